import { createPool, type Pool } from '@ghost/db';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import {
  claimWebhooks,
  enqueueWebhooks,
  postgresHarness,
  WEBHOOKS,
} from '../../conformance/queue-harness.js';
import { hookLane } from '../lane.js';
import type { Queue } from '../queue.js';
import { createPostgresQueue } from './postgres-queue.js';

/** More than a look that comes short would pass once more. */
const LEFT_BEHIND = 3_000;
const HOOK = 1;
const OTHER_HOOK = 2;

let database: TestDatabase;
let harness: ReturnType<typeof postgresHarness>;
/** One connection: what it noted counts for it alone. */
let one: Pool;
let queue: Queue;
let endSnapshot: () => Promise<void>;

beforeAll(async () => {
  database = await createTestDatabase();
  harness = postgresHarness(database.url);
  await harness.prove(hookLane(HOOK));
  await harness.prove(hookLane(OTHER_HOOK));
  const other = await harness.pool.connect();
  await other.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await other.query('SELECT count(*) FROM delivery_lane');
  endSnapshot = async () => {
    await other.query('ROLLBACK');
    other.release();
  };
  await leaveBehind(HOOK);
});
beforeEach(() => {
  one = createPool({
    connectionString: database.url,
    name: 'one connection',
    max: 1,
    onError: () => undefined,
  });
  queue = createPostgresQueue({ pool: one });
});
afterEach(async () => {
  await harness.clear();
  await one.end();
});
afterAll(async () => {
  await endSnapshot();
  await harness.close();
  await database.drop();
});

/** A lane that was due so often an hour ago, and moved on each time, as claims let it. */
async function leaveBehind(hook: number): Promise<void> {
  await harness.pool.query(
    `DO $$ BEGIN
       FOR n IN 1..${LEFT_BEHIND} LOOP
         UPDATE delivery_lane SET next_at = now() - interval '1 hour' + n * interval '1 millisecond', moves = moves + 1
         WHERE lane = '${hookLane(hook)}';
       END LOOP;
       UPDATE delivery_lane SET next_at = 'infinity', moves = moves + 1 WHERE lane = '${hookLane(hook)}';
     END $$`,
  );
}

/** Index entries that a verb reads, dead ones too. */
async function entriesRead(index: string, call: string): Promise<number> {
  const client = await one.connect();
  try {
    await client.query('BEGIN');
    const read = async () => {
      const { rows } = await client.query<{ n: string }>(
        'SELECT pg_stat_get_xact_tuples_returned($1::regclass) AS n',
        [index],
      );
      return Number(rows[0]?.n);
    };
    const before = await read();
    await client.query(`SELECT * FROM ${call}`);
    const entries = (await read()) - before;
    await client.query('COMMIT');
    return entries;
  } finally {
    client.release();
  }
}

const FEW = 50;
const LEASE = { lane: hookLane(HOOK), version: 1 };
const DUE = 'delivery_lane_due';
const KEY = 'delivery_lane_pkey';
const CLAIM = `delivery_claim('webhook', 1::smallint, 10, 10, false, 25, 10, 30000, 50, 50, '{}')`;
const NEXT_DUE = `delivery_next_due('webhook', 1::smallint, true, false)`;

describe('what an old snapshot keeps of lanes', () => {
  test('is looked at once a while, not by each claim and look', async () => {
    expect(await entriesRead(DUE, CLAIM)).toBeGreaterThanOrEqual(LEFT_BEHIND);
    expect(await entriesRead(DUE, CLAIM)).toBeLessThan(FEW);
    expect(await entriesRead(DUE, NEXT_DUE)).toBeLessThan(FEW);
    // Another connection noted nothing.
    await one.query(`SELECT set_config('ghost.due_webhook_1_proven', '', false)`);
    expect(await entriesRead(DUE, NEXT_DUE)).toBeGreaterThanOrEqual(LEFT_BEHIND);
    expect(await entriesRead(DUE, NEXT_DUE)).toBeLessThan(FEW);
    expect(await entriesRead(DUE, CLAIM)).toBeLessThan(FEW);
  });

  test('is passed by where a lane is looked up by its name', async () => {
    await enqueueWebhooks(harness, queue, HOOK, 2);
    const [first, second] = await claimWebhooks(queue);
    if (!first || !second) throw new Error('nothing claimed');
    const lease = JSON.stringify([{ ...LEASE, id: first.id, lease_no: first.leaseNo }]);
    expect(await entriesRead(KEY, `delivery_extend('${lease}', 30000)`)).toBeLessThan(FEW);
    const settle = `delivery_settle('{${second.id}}', '{${second.leaseNo}}', '{${LEASE.lane}}', '{1}', '{delivered}', '{delivered}', '{NULL}',
      '{true}', '{0}', '{false}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '[[null, null, null]]', '{}', 10)`;
    expect(await entriesRead(KEY, settle)).toBeLessThan(FEW);
  });

  test('hides no job for long: a look behind it says when the next full one is due', async () => {
    // Nothing is due, and the claim notes where it ended.
    expect(await claimWebhooks(queue)).toEqual([]);
    const [id] = await enqueueWebhooks(harness, queue, OTHER_HOOK, 1);
    // As a transaction that was open for long commits it.
    await harness.pool.query(
      `UPDATE delivery_lane SET next_at = now() - interval '30 minutes' WHERE lane = '${hookLane(OTHER_HOOK)}'`,
    );
    expect(await claimWebhooks(queue)).toEqual([]);
    const { workMs } = await queue.nextDue(WEBHOOKS, { tidy: false });
    expect(workMs).toBeGreaterThan(0);
    expect(workMs).toBeLessThan(10_000);
    const found = await waitUntil(async () => (await claimWebhooks(queue))[0], {
      what: 'a full look',
    });
    expect(found.id).toBe(id);
  });

  test('is stepped over for half a minute at most, however long a look took', async () => {
    const note = 'ghost.of_a_test';
    await one.query(
      `SELECT delivery_raise_floor($1, '-infinity', now(), ${LEFT_BEHIND}, interval '1 hour')`,
      [note],
    );
    const { rows } = await one.query<{ s: number }>(
      `SELECT extract(epoch FROM (current_setting($1)::text[])[1]::timestamptz - now())::float8 AS s`,
      [note],
    );
    expect(rows[0]?.s).toBeGreaterThan(20);
    expect(rows[0]?.s).toBeLessThanOrEqual(30);
  });

  test('keeps no worker awake: with nothing pending, a full look says so', async () => {
    await claimWebhooks(queue);
    await waitUntil(async () => (await queue.nextDue(WEBHOOKS)).workMs === null, {
      what: 'a look that finds nothing',
    });
  });
});

async function somebodyWaits(): Promise<void> {
  await waitUntil(
    async () => {
      const { rows } = await harness.pool.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`,
      );
      return rows.length > 0;
    },
    { what: 'one transaction to wait for the other' },
  );
}

test('a lane that two transactions make at once is made once', async () => {
  const lane = hookLane(77);
  const first = await harness.open();
  const insert = `INSERT INTO delivery_lane (lane, version, kind) VALUES ($1, 1, 'webhook')`;
  await first.tx.query(insert, [lane]);
  const second = harness.pool.query(insert, [lane]);
  await somebodyWaits();
  await first.commit();
  expect((await second).rowCount).toBe(0);
  const { rows } = await harness.pool.query('SELECT FROM delivery_lane WHERE lane = $1', [lane]);
  expect(rows).toHaveLength(1);
});

test('an enqueue that meets a lane which is just being made lowers it', async () => {
  const hook = 78;
  const first = await harness.open();
  await first.tx.query(
    `INSERT INTO delivery_lane (lane, version, kind) VALUES ($1, 1, 'webhook')`,
    [hookLane(hook)],
  );
  const enqueued = enqueueWebhooks(harness, queue, hook, 1, { fresh: true });
  await somebodyWaits();
  await first.commit();
  const [id] = await enqueued;
  expect((await claimWebhooks(queue)).map((job) => job.id)).toEqual([id]);
});
