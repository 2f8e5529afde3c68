import type { JobKind } from '@ghost/contract';

/** So many wakes may find nothing before prom-client is loaded to count them. */
const NOTES_KEPT = 100;

export interface Metrics {
  attempted: (kind: JobKind, outcome: string, reason: string) => void;
  claimed: (kind: JobKind, tookMs: number, jobs: number) => void;
  settled: (tookMs: number, outcomes: number) => void;
  /** Prometheus text, and its content type. */
  render: () => Promise<{ text: string; contentType: string }>;
}

export interface MetricsSources {
  sending: (kind: JobKind) => number;
  inHand: () => number;
  bytes: (kind: JobKind) => number;
  databaseUp: () => boolean;
  listening: () => boolean;
}

/**
 * Keeps what is counted until there is a first attempt or someone asks, and only then loads what
 * counts: an idle process does without prom-client.
 */
export function createMetrics(load: () => Promise<Metrics>): Metrics {
  const notes: ((metrics: Metrics) => void)[] = [];
  let loaded: Metrics | undefined;
  let loading: Promise<Metrics> | undefined;
  const counting = () =>
    (loading ??= load().then((metrics) => {
      loaded = metrics;
      for (const note of notes.splice(0)) note(metrics);
      return metrics;
    }));
  const count = (note: (metrics: Metrics) => void, worthLoading: boolean) => {
    if (loaded) return note(loaded);
    notes.push(note);
    if (worthLoading || notes.length >= NOTES_KEPT) void counting();
  };
  return {
    attempted: (...args) => count((metrics) => metrics.attempted(...args), true),
    claimed: (...args) => count((metrics) => metrics.claimed(...args), false),
    settled: (...args) => count((metrics) => metrics.settled(...args), false),
    render: async () => (await counting()).render(),
  };
}
