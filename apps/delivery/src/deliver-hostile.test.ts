import { expect, test } from 'vitest';

import type { SeededAttempt } from '../../../test/support/delivery-seed.js';
import { seededDatabase, startWorker } from '../../../test/support/delivery-worker.js';
import { CHUNKED_ANSWERS } from '../../../test/support/hostile/answers/chunked-answers.js';
import type { HostileCase } from '../../../test/support/hostile/answers/hostile-case.js';
import { HOSTILE_CASES } from '../../../test/support/hostile/answers/hostile-cases.js';
import { startCaseServer } from '../../../test/support/hostile/play-case.js';
import { untilTestEnds } from '../../../test/support/servers-of-a-test.js';
import { waitUntil } from '../../../test/support/wait-until.js';

const DEADLINE_MS = 2_500;
/** All are of one owner, who may have a quarter of them. */
const CONCURRENCY = 160;
/**
 * A worker trusts no certificate of some. How chunks and pieces are read is the sender's, and all of them are kept alike;
 * each piece takes a turn of the loop, of which there are few beside all the others.
 */
const CASES = HOSTILE_CASES.filter(
  (one) =>
    typeof one.secure !== 'object' &&
    !CHUNKED_ANSWERS.includes(one) &&
    !one.what.includes('in small pieces'),
);

const OUTCOMES = { delivered: 'delivered', retry: 'retry', hold: 'held' };
const JOB_STATUSES = { delivered: 'delivered', retry: 'pending', hold: 'pending' };

test('each hostile answer is one attempt, kept with its reason; a delivery stays one, whatever came', async () => {
  const { databaseUrl, seed } = await seededDatabase();
  const servers = await Promise.all(
    CASES.map(async (one) => untilTestEnds(await startCaseServer(one, { dripMs: 40 }))),
  );
  const hooks: number[] = [];
  for (const { url } of servers) hooks.push(await seed.hook(url));
  const jobs = await seed.webhooks(hooks);
  const worker = await startWorker(databaseUrl, {
    deadlineMs: DEADLINE_MS,
    concurrency: CONCURRENCY,
    retryBaseMs: 60_000,
    // Nothing is tried again while the test lasts.
    random: () => 0.99,
  });
  await waitUntil(async () => (await seed.attempts()).length >= CASES.length, {
    what: 'an attempt of each',
    timeoutMs: 15_000,
  });
  await waitUntil(() => servers.every((server) => (server.listen(), server.open() <= 1)), {
    what: 'the end of all connections but those that are kept',
  });
  await worker.stop();

  const attempts = await seed.attempts();
  const statuses = new Map((await seed.jobs()).map(({ id, status }) => [id, status]));
  const faults = CASES.flatMap((one, index) => {
    const own = attempts.filter(({ jobId }) => jobId === jobs[index]);
    return faultsOfStored(one, own, statuses.get(jobs[index] ?? '')).map(
      (fault) => `${one.what}: ${fault}`,
    );
  });
  expect(faults).toEqual([]);
  expect(Math.max(...servers.map((server) => server.requests()))).toBe(1);
});

function faultsOfStored(
  { expected }: HostileCase,
  own: readonly SeededAttempt[],
  jobStatus: string | undefined,
): string[] {
  const [attempt] = own;
  if (!attempt || own.length > 1) return [`${own.length} attempts`];
  const { outcome, reason, status, bodyExcerpt } = attempt;
  return [
    ...(outcome === OUTCOMES[expected.verdict] ? [] : [`it is kept as ${outcome}`]),
    ...(jobStatus === JOB_STATUSES[expected.verdict] ? [] : [`its job is ${jobStatus}`]),
    ...(expected.reasons === undefined || expected.reasons.includes(reason ?? '')
      ? []
      : [`its reason is ${reason}`]),
    ...(expected.status === undefined || expected.status === status
      ? []
      : [`its status is ${status}`]),
    ...(expected.body === undefined || expected.body === (bodyExcerpt ?? '')
      ? []
      : [`its excerpt is ${bodyExcerpt}`]),
  ];
}
