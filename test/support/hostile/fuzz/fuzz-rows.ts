import { randomInt } from 'node:crypto';

import { progress } from '../../progress.js';
import type { ProofRow } from '../../proof-world.js';
import { fuzzAnswers } from './fuzz-answers.js';
import { fuzzHeaders } from './fuzz-headers.js';

const FOR_MS = 60_000;
const LANES = 64;
const SLACK_MS = 250;
/** What a busy machine plays in that time. */
const LEAST_ATTEMPTS = 5_000;
const LEAST_HEADERS = 10_000;
/** A pause of the machine is shorter, a regular expression that backtracks is not. */
const LONGEST_CHECK_BOUND_MS = 1_000;

/** A minute of random custom headers. `FUZZ_SEED` repeats one. */
export async function* fuzzHeaderRows(): AsyncGenerator<ProofRow> {
  const seed = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 30));
  const { tried, sent, longestCheckMs, faults } = await fuzzHeaders({ seed, forMs: FOR_MS });
  for (const fault of faults) progress(fault);
  yield {
    what: `random custom headers, seed ${seed}: that went wrong in any way`,
    figure: `${faults.length} of ${tried}, ${sent} sent`,
    bound: `0 of ≥ ${LEAST_HEADERS}, some`,
    ok: faults.length === 0 && tried >= LEAST_HEADERS && sent > 0,
  };
  yield {
    what: 'the longest check of one',
    figure: `${longestCheckMs.toFixed(1)} ms`,
    bound: `≤ ${LONGEST_CHECK_BOUND_MS} ms`,
    ok: longestCheckMs <= LONGEST_CHECK_BOUND_MS,
  };
}

/** A minute of random answers. `FUZZ_SEED` repeats one. */
export async function* fuzzRows(): AsyncGenerator<ProofRow> {
  const crashes: unknown[] = [];
  const crashed = (error: unknown) => void crashes.push(error);
  process.on('uncaughtException', crashed);
  process.on('unhandledRejection', crashed);
  const seed = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));
  const fuzzed = await fuzzAnswers({
    seed,
    lanes: LANES,
    attemptsMost: Number.POSITIVE_INFINITY,
    forMs: FOR_MS,
    slackMs: SLACK_MS,
  }).finally(() => {
    process.off('uncaughtException', crashed);
    process.off('unhandledRejection', crashed);
  });
  const { attempts, intact, intactLate, reused, delivered, faults, latestMs, socketsLeft } = fuzzed;
  progress(`${intact} intact, ${reused} over a kept connection, ${delivered} delivered`);
  for (const fault of faults) progress(fault);
  for (const crash of crashes) progress(String(crash instanceof Error ? crash.stack : crash));
  yield {
    what: `random answers, seed ${seed}: that went wrong in any way`,
    figure: `${faults.length + intactLate} of ${attempts}`,
    bound: `0 of ≥ ${LEAST_ATTEMPTS}`,
    ok: faults.length + intactLate === 0 && attempts >= LEAST_ATTEMPTS && intact > 0 && reused > 0,
  };
  yield {
    what: 'the latest end after the deadline',
    figure: `${latestMs.toFixed(0)} ms`,
    bound: `≤ ${SLACK_MS} ms`,
    ok: latestMs <= SLACK_MS,
  };
  yield {
    what: 'crashes, sockets left',
    figure: `${crashes.length}, ${socketsLeft}`,
    bound: '0, 0',
    ok: crashes.length === 0 && socketsLeft === 0,
  };
}
