import { BOUNDS } from './bounds.js';
import type { ContenderName } from './figures.js';
import type { Summary } from './summary.js';

export interface Check {
  what: string;
  /** Null: what it needs did not run. */
  ratio: number | null;
  bound: number;
  /** Whether the ratio must be at least or at most the bound. */
  must: 'at least' | 'at most';
  ok: boolean;
}

const POSTGRES_PEERS: readonly ContenderName[] = ['graphile-worker', 'pg-boss'];

/** Ours beside the best Postgres peer and beside the raw client. */
export function judge(summaries: readonly Summary[]): Check[] {
  const find = (name: ContenderName) => summaries.find(({ contender }) => contender === name);
  const ours = find('ours');
  const peers = summaries.filter(({ contender }) => POSTGRES_PEERS.includes(contender));
  const best = (read: (one: Summary) => number | null, pick: (...of: number[]) => number) => {
    const values = peers.map(read).filter((value) => value !== null);
    return values.length === 0 ? null : pick(...values);
  };
  const { throughputToBestPeer, throughputToRaw, lightToBestPeer } = BOUNDS;
  const speed = ours?.jobsPerSecond ?? null;
  const fastest = best((one) => one.jobsPerSecond, Math.max);
  const p50 = best((one) => one.p50Ms, Math.min);
  const p99 = best((one) => one.p99Ms, Math.min);
  return [
    atLeast('jobs/s, ours to the best Postgres peer', speed, fastest, throughputToBestPeer),
    atLeast(
      'jobs/s, ours to the raw client',
      speed,
      find('raw')?.jobsPerSecond ?? null,
      throughputToRaw,
    ),
    atMost(
      'p50 at 20 jobs/s, ours to the best Postgres peer',
      ours?.p50Ms ?? null,
      p50,
      lightToBestPeer,
    ),
    atMost(
      'p99 at 20 jobs/s, ours to the best Postgres peer',
      ours?.p99Ms ?? null,
      p99,
      lightToBestPeer,
    ),
  ];
}

function atLeast(what: string, ours: number | null, other: number | null, bound: number): Check {
  const ratio = ratioOf(ours, other);
  return { what, ratio, bound, must: 'at least', ok: ratio === null || ratio >= bound };
}

function atMost(what: string, ours: number | null, other: number | null, bound: number): Check {
  const ratio = ratioOf(ours, other);
  return { what, ratio, bound, must: 'at most', ok: ratio === null || ratio <= bound };
}

function ratioOf(ours: number | null, other: number | null): number | null {
  return ours === null || other === null ? null : ours / other;
}

/** One sentence for people. */
export function sentenceOf({ what, ratio, bound, must, ok }: Check): string {
  if (ratio === null) return `not judged: ${what} (not all of it ran)`;
  const verdict = ok ? 'ok    ' : 'FAILED';
  return `${verdict}  ${what}: ${ratio.toFixed(2)} ×, must be ${must} ${bound} ×`;
}
