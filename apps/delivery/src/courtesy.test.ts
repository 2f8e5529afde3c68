import { listHooks, resumeHookAsOperator } from '@ghost/operations';
import { createPostgresQueue } from '@ghost/queue';
import { beforeEach, describe, expect, test } from 'vitest';

import type { DeliverySeed } from '../../../test/support/delivery-seed.js';
import {
  allDelivered,
  seededDatabase,
  startWorker,
} from '../../../test/support/delivery-worker.js';
import { receiver } from '../../../test/support/servers-of-a-test.js';
import { waitUntil } from '../../../test/support/wait-until.js';

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;

let databaseUrl: string;
let seed: DeliverySeed;
beforeEach(async () => {
  ({ databaseUrl, seed } = await seededDatabase());
});

/** `count` jobs of one hook whose lane is new: one of them is sent first, alone. */
async function backlog(url: string, count: number): Promise<number> {
  const hook = await seed.hook(url);
  await seed.webhooks(
    Array.from({ length: count }, () => hook),
    { fresh: true },
  );
  return hook;
}

async function lane() {
  const { rows } = await seed.pool.query<{ rests_ms: number | null; failures: number }>(
    `SELECT failures, (extract(epoch FROM not_before - now()) * 1000)::float AS rests_ms FROM delivery_lane`,
  );
  return { restsMs: rows[0]?.rests_ms ?? null, failures: rows[0]?.failures ?? 0 };
}

const untilItRests = () =>
  waitUntil(async () => (await lane()).restsMs ?? undefined, { what: 'the lane to rest' });

describe('an endpoint that asks for a pause', () => {
  test('gets none of what waits for it before', async () => {
    const target = await receiver(() =>
      target.requests().length === 1 ? { status: 503, headers: { 'retry-after': '1' } } : 200,
    );
    await backlog(target.url, 5);
    await startWorker(databaseUrl, { retryBaseMs: 20 });
    await allDelivered(seed);
    const [asked, next] = target.requests();
    expect(target.requests()).toHaveLength(6);
    expect((next?.at.getTime() ?? 0) - (asked?.at.getTime() ?? 0)).toBeGreaterThanOrEqual(
      SECOND_MS,
    );
  });

  test.each([
    ['in seconds', () => '120', 120 * SECOND_MS],
    ['by a date', () => new Date(Date.now() + 90 * SECOND_MS).toUTCString(), 90 * SECOND_MS],
    ['for longer than a day: cut', () => '999999', DAY_MS],
    ['in no words that there are: the base of the back-off', () => 'soon', 30 * SECOND_MS],
  ])('%s has it, for its own lane alone', async (_name, retryAfter, restMs) => {
    const busy = await receiver(() => ({
      status: 429,
      headers: { 'retry-after': retryAfter() },
    }));
    await backlog(busy.url, 5);
    await startWorker(databaseUrl, { retryBaseMs: 30 * SECOND_MS });
    const restsMs = await untilItRests();
    expect(restsMs).toBeLessThanOrEqual(restMs);
    // A date has whole seconds; the rest is what this test took.
    expect(restsMs).toBeGreaterThan(restMs - 10 * SECOND_MS);
    const other = await receiver();
    await seed.webhooks([await seed.hook(other.url)]);
    await other.waitForRequests(1);
    expect(busy.requests()).toHaveLength(1);
  });
});

test('410 disables a hook: what waits and what comes is kept, until somebody resumes it', async () => {
  let gone = true;
  const target = await receiver(() => (gone ? 410 : 200));
  const hook = await backlog(target.url, 3);
  await startWorker(databaseUrl);
  const held = async () => (await listHooks(seed.pool, { id: hook }))[0]?.held ?? undefined;
  expect(await waitUntil(held, { what: 'the hook to be held' })).toMatchObject({ code: 'gone' });
  await seed.webhooks([hook], { fresh: true });
  const other = await receiver();
  await seed.webhooks([await seed.hook(other.url)]);
  await other.waitForRequests(1);
  expect(target.requests()).toHaveLength(1);
  const ofHook = (await seed.jobs()).slice(0, 4);
  expect(new Set(ofHook.map(({ status }) => status))).toEqual(new Set(['pending']));
  expect(ofHook.map(({ attempts }) => attempts).toSorted((a, b) => b - a)).toEqual([1, 0, 0, 0]);
  gone = false;
  await resumeHookAsOperator(seed.pool, createPostgresQueue({ pool: seed.pool }), hook);
  await allDelivered(seed);
  expect(target.requests()).toHaveLength(5);
});

test('an endpoint that recovers is not flooded: one job first, then one more at once for each that it takes', async () => {
  let down = true;
  let open = 0;
  let taken = 0;
  const beyond: string[] = [];
  const target = await receiver(async () => {
    if (down) return 500;
    open += 1;
    // In flight at most what it has earned: 1, and 1 for each success that was written.
    if (open > taken + 1) beyond.push(`${open} at once after ${taken}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
    open -= 1;
    taken += 1;
    return 200;
  });
  await backlog(target.url, 30);
  await startWorker(databaseUrl, { retryBaseMs: 1 });
  await waitUntil(async () => (await lane()).failures >= 5 || undefined, {
    what: 'the breaker to open',
  });
  down = false;
  await seed.pool.query('UPDATE delivery_lane SET not_before = NULL, next_at = now()');
  await seed.pool.query(`SELECT pg_notify('ghost_delivery', '')`);
  await allDelivered(seed);
  expect(taken).toBe(30);
  expect(beyond).toEqual([]);
});
