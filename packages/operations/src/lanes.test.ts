import { createPostgresQueue, hookLane, type Queue, type Settlement } from '@ghost/queue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { createDeliverySeed, type DeliverySeed } from '../../../test/support/delivery-seed.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { findLane, holdLane, listLanes, resumeLane } from './lanes.js';

const WEBHOOKS = { kind: 'webhook', version: 1, jobs: 100, lanes: 100 } as const;
const REST_MS = 60_000;

let database: TestDatabase;
let seed: DeliverySeed;
let queue: Queue;

beforeEach(async () => {
  database = await createTestDatabase();
  seed = await createDeliverySeed(database.url);
  queue = createPostgresQueue({ pool: seed.pool });
});
afterEach(async () => {
  await seed.close();
  await database.drop();
});

/** Claims all due webhooks and reports the same of each. */
async function settleAll(
  outcome: Pick<Settlement, 'outcome' | 'reason' | 'delayMs' | 'laneRestMs'>,
): Promise<void> {
  const { jobs } = await queue.claim(WEBHOOKS);
  await queue.settle(
    jobs.map(({ id, leaseNo, lane, version }) => ({
      ...{ id, leaseNo, lane, version, charged: true, attempt: null },
      ...outcome,
    })),
  );
}

const claimed = async () => (await queue.claim(WEBHOOKS)).jobs.length;

describe('resumeLane', () => {
  test('lets a hook that answered 410 go on with all that was kept', async () => {
    const hookId = await seed.hook('https://a.example');
    const lane = hookLane(hookId);
    await seed.webhooks([hookId, hookId]);
    await settleAll({ outcome: 'held', reason: 'gone', delayMs: 0 });
    expect(await claimed()).toBe(0);
    expect(await findLane(seed.pool, lane)).toMatchObject({
      pending: 2,
      heldReason: 'gone',
      heldSince: expect.any(Date) as unknown,
      nextDue: null,
    });

    expect(await resumeLane(seed.pool, queue, lane)).toEqual({ result: 'done', lane, pending: 2 });
    expect(await claimed()).toBe(2);
    expect(await findLane(seed.pool, lane)).toMatchObject({ heldReason: null, heldSince: null });
  });

  test('refuses a lane that is not held, rests by itself, or is none', async () => {
    const [quiet, busy] = [
      await seed.hook('https://a.example'),
      await seed.hook('https://b.example'),
    ];
    const reasonOf = async (lane: string) => {
      const change = await resumeLane(seed.pool, queue, lane);
      return change.result === 'refused' ? change.reason : change.result;
    };
    await seed.webhooks([busy]);
    expect(await reasonOf(hookLane(busy))).toBe('it is not held');
    await settleAll({ outcome: 'retry', reason: 'http_429', delayMs: 0, laneRestMs: REST_MS });
    expect(await reasonOf(hookLane(busy))).toMatch(/^it is not held; it rests until 2\d{3}-/u);
    expect(await reasonOf(hookLane(quiet))).toBe('nothing was ever sent or held there');
    expect(await reasonOf('hook:999')).toContain('no hook has this id');
    expect(await reasonOf('mail:nowhere.example')).toContain('no account has an address');
    expect(await reasonOf('hooks/12')).toContain('a lane is hook:<id>, mail:<domain>');
  });
});

describe('holdLane', () => {
  test('keeps what is pending and what comes, of a lane that had no job yet too', async () => {
    const hookId = await seed.hook('https://a.example');
    const lane = hookLane(hookId);
    expect(await holdLane(seed.pool, queue, lane, 'moving house')).toEqual({
      result: 'done',
      lane,
      pending: 0,
    });
    await seed.webhooks([hookId]);
    expect(await claimed()).toBe(0);
    // The seed's owner has an address there.
    expect(await holdLane(seed.pool, queue, 'mail:ghost.example:bulk', 'x')).toMatchObject({
      result: 'done',
    });
  });

  test('keeps the reason of a hold that is there, and makes no lane of a typing error', async () => {
    const lane = hookLane(await seed.hook('https://a.example'));
    await holdLane(seed.pool, queue, lane, 'gone');
    expect(await holdLane(seed.pool, queue, lane, 'another')).toMatchObject({
      result: 'refused',
      reason: expect.stringMatching(/^it is held already \(gone, since 2\d{3}-/u) as unknown,
    });
    for (const wrong of ['hook:999', 'mail:ghost.exampel', 'hook:', 'hook:99999999999999999999']) {
      expect(await holdLane(seed.pool, queue, wrong, 'x')).toMatchObject({ result: 'refused' });
    }
    expect((await listLanes(seed.pool, { idle: true })).map((row) => row.lane)).toEqual([lane]);
  });
});

describe('listLanes', () => {
  test('shows what waits where and why, the held first, and idle lanes only when asked', async () => {
    const hooks = [];
    for (const name of ['held', 'resting', 'flying', 'idle']) {
      hooks.push(await seed.hook(`https://${name}.example`));
    }
    const [held, resting, flying, idle] = hooks.map((id) => hookLane(id));
    await seed.webhooks([hooks[3] ?? 0]);
    await settleAll({ outcome: 'delivered', reason: null, delayMs: 0 });
    await seed.webhooks([hooks[1] ?? 0]);
    await settleAll({ outcome: 'retry', reason: 'http_503', delayMs: 0, laneRestMs: REST_MS });
    await seed.webhooks([hooks[2] ?? 0]);
    await queue.claim(WEBHOOKS);
    await seed.mails(['ada@one.example', 'bo@one.example', 'cy@one.example']);
    await holdLane(seed.pool, queue, held ?? '', 'moving house');

    const rows = await listLanes(seed.pool);
    expect(rows).toMatchObject([
      { lane: held, pending: 0, heldReason: 'moving house', nextDue: null },
      { lane: 'mail:one.example', kind: 'email', pending: 3, inFlight: 0, restingUntil: null },
      { lane: resting, kind: 'webhook', pending: 1, inFlight: 0, heldReason: null },
      { lane: flying, pending: 1, inFlight: 1, nextDue: null },
    ]);
    // A job that is due sooner waits for the end of its lane's rest.
    expect(rows[2]?.nextDue).toEqual(rows[2]?.restingUntil);
    expect(rows[2]?.restingUntil?.getTime()).toBeGreaterThan(Date.now());
    expect(rows[1]?.nextDue?.getTime()).toBeLessThanOrEqual(Date.now());

    const lanes = async (filter: Parameters<typeof listLanes>[1]) =>
      (await listLanes(seed.pool, filter)).map((row) => row.lane);
    expect(await lanes({ idle: true })).toContain(idle);
    expect(await lanes({ held: true })).toEqual([held]);
    expect(await lanes({ limit: 1 })).toEqual([held]);
  });
});
