import { randomInt } from 'node:crypto';

import { DEFAULT_POLICY } from '@ghost/policy';
import fc from 'fast-check';

import type * as connectionSource from '../../apps/delivery/src/net/guarded-connection.js';
import type * as targetsSource from '../../apps/delivery/src/send/targets.js';
import { dnsAnswers, urlInput } from '../support/fuzz/url-inputs.js';
import { isInside } from '../support/inner-oracle.js';
import { interceptSockets, type InterceptedSockets } from '../support/intercepted-sockets.js';
import { loadSource } from '../support/load-source.js';
import type { ProofRow } from '../support/proof-world.js';
import { withStops } from '../support/stops.js';

export const name =
  'Random URLs and answers of the DNS: no crash, no hang, nothing inside is dialed';

const FUZZING_MS = 60_000;
/** Drawn together, from one seed; the next batch has the next. FUZZ_SEED repeats the first. */
const BATCH = 1_000;
/** A pause of the machine is shorter, a regular expression that backtracks is not. */
const LONGEST_BOUND_MS = 1_000;
const LEAST_INPUTS = 50_000;

interface Seen {
  inputs: number;
  accepted: number;
  dialed: number;
  longestMs: number;
  faults: string[];
}

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const seed = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31 - FUZZING_MS));
    const judge = await judgeOf();
    const sockets = interceptSockets();
    stops.add(() => sockets.stop());
    const seen: Seen = { inputs: 0, accepted: 0, dialed: 0, longestMs: 0, faults: [] };
    const until = performance.now() + FUZZING_MS;
    for (let batch = 0; performance.now() < until; batch += 1) {
      const cases = fc.sample(fc.tuple(urlInput, dnsAnswers), {
        numRuns: BATCH,
        seed: seed + batch,
      });
      for (const [url, answers] of cases) await tryOne({ url, answers, judge, sockets, seen });
    }
    const { inputs, accepted, dialed, longestMs, faults } = seen;
    const count = (value: number) => value.toLocaleString('en');
    yield {
      what: `random URLs, seed ${seed}: tried, accepted, addresses dialed`,
      figure: `${count(inputs)}, ${count(accepted)}, ${count(dialed)}`,
      bound: `≥ ${count(LEAST_INPUTS)}, some, some`,
      ok: inputs >= LEAST_INPUTS && accepted > 0 && dialed > 0,
    };
    yield {
      what: 'crashes, and addresses that must not be dialed',
      figure: [String(faults.length), ...faults.slice(0, 3)].join('; '),
      bound: '0',
      ok: faults.length === 0,
    };
    yield {
      what: 'the longest that one took',
      figure: `${longestMs.toFixed(0)} ms`,
      bound: `≤ ${LONGEST_BOUND_MS} ms`,
      ok: longestMs <= LONGEST_BOUND_MS,
    };
  });
}

/** Judges a URL and, where it is accepted, dials it as a webhook does. */
type Judge = (url: string, answers: readonly string[]) => Promise<'refused' | 'dialed'>;

async function judgeOf(): Promise<Judge> {
  const { createTargets } = await loadSource<typeof targetsSource>(
    'apps/delivery/src/send/targets.ts',
  );
  const { dial } = await loadSource<typeof connectionSource>(
    'apps/delivery/src/net/guarded-connection.ts',
  );
  const targetOf = createTargets(DEFAULT_POLICY);
  return async (url, answers) => {
    const target = targetOf(url, false);
    if (!target.ok) return 'refused';
    if (!targetOf(target.url, false).ok) throw new Error('saved, it would be refused');
    const dialer = {
      resolver: {
        resolve: async () =>
          answers.length > 0
            ? { found: true as const, addresses: [...answers] }
            : { found: false as const, code: 'ENODATA' },
        pending: 0,
        close: () => undefined,
      },
      policy: DEFAULT_POLICY,
    };
    const attempt = new AbortController();
    const result = await dial(target, dialer, { phase: 'dns', timings: {} }, attempt.signal);
    attempt.abort('over');
    if (result.ok) throw new Error('a connection without a network');
    return 'dialed';
  };
}

interface Try {
  url: string;
  answers: readonly string[];
  judge: Judge;
  sockets: InterceptedSockets;
  seen: Seen;
}

async function tryOne({ url, answers, judge, sockets, seen }: Try): Promise<void> {
  const startedAt = performance.now();
  seen.inputs += 1;
  try {
    if ((await judge(url, answers)) === 'dialed') seen.accepted += 1;
  } catch (error) {
    seen.faults.push(`${JSON.stringify(url)} threw ${String(error)}`);
  }
  const dialed = sockets.take().map(({ host }) => host);
  seen.dialed += dialed.length;
  const inner = dialed.filter(isInside);
  // A literal is dialed as it is; one inner answer forbids them all.
  const mixed = dialed.some((one) => answers.includes(one)) && answers.some(isInside);
  if (inner.length > 0 || mixed) {
    seen.faults.push(`${JSON.stringify(url)} [${answers.join()}] dialed ${dialed.join()}`);
  }
  seen.longestMs = Math.max(seen.longestMs, performance.now() - startedAt);
}
