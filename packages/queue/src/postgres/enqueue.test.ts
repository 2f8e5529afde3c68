import { createDatabase, createPool, type Database, type Pool, type Transaction } from '@ghost/db';
import { uuidv7 } from 'uuidv7';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { hookLane } from '../lane.js';
import type { NewJob } from '../queue.js';
import { enqueue } from './enqueue.js';
import { sqlOf, sqlOfPool } from './sql.js';
import { storeContent } from './store-content.js';

let database: TestDatabase;
let pool: Pool;
let db: Database;
let contentId: string;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = createPool({
    connectionString: database.url,
    name: 'enqueue test',
    max: 4,
    onError: () => undefined,
  });
  db = createDatabase(pool);
  const event = uuidv7();
  await pool.query(
    `INSERT INTO outbox_event (id, type, version, payload) VALUES ($1, 'ping', 1, '{}')`,
    [event],
  );
  const content = { kind: 'webhook', eventId: event, body: '{}' } as const;
  contentId = await storeContent(sqlOfPool(pool), content);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const job = (key: string, hookId = 1): NewJob => ({
  id: uuidv7(),
  idempotencyKey: key,
  eventId: null,
  contentId,
  lane: hookLane(hookId),
  repositoryId: null,
  kind: 'webhook',
  hookId,
  own: { event: 'ping' },
});

const enqueueIn = (tx: Transaction, ...keys: string[]) =>
  enqueue(
    sqlOf(tx),
    keys.map((key) => job(key)),
  );

async function keys(): Promise<string[]> {
  const { rows } = await pool.query<{ key: string }>(
    'SELECT idempotency_key AS key FROM delivery_job ORDER BY 1',
  );
  return rows.map((row) => row.key);
}

/** Two transactions that share the key "b"; the second meets the first while it is open. */
async function race(endOfFirst: 'commit' | 'rollback'): Promise<number> {
  let second: Promise<number> | undefined;
  const first = db.transaction(async (tx) => {
    await enqueueIn(tx, 'a', 'b');
    second = db.transaction((other) => enqueueIn(other, 'b', 'c'));
    await waitUntil(
      async () => {
        const { rows } = await pool.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`,
        );
        return rows.length > 0;
      },
      { what: 'the second to wait for the first' },
    );
    if (endOfFirst === 'rollback') throw new Error('undone');
  });
  await first.catch(() => undefined);
  return (await second) ?? Number.NaN;
}

describe('a key that two transactions enqueue at once', () => {
  test('is the first one’s when that commits; the rest of the second is enqueued', async () => {
    expect(await race('commit')).toBe(1);
    expect(await keys()).toEqual(['a', 'b', 'c']);
  });

  test('is the second one’s when the first is rolled back', async () => {
    expect(await race('rollback')).toBe(2);
    expect(await keys()).toEqual(['b', 'c']);
  });
});

test('a key that comes twice in one call is enqueued once', async () => {
  expect(await db.transaction((tx) => enqueueIn(tx, 'a', 'a', 'b'))).toBe(2);
  expect(await keys()).toEqual(['a', 'b']);
});

test('an id that exists under another key is a fault, not a duplicate', async () => {
  const first = job('a');
  await db.transaction((tx) => enqueue(sqlOf(tx), [first]));
  const again = db.transaction((tx) => enqueue(sqlOf(tx), [{ ...job('b'), id: first.id }]));
  await expect(again).rejects.toMatchObject({ code: '23505', constraint: 'delivery_job_pkey' });
});

test('a call reads no more of the table when it has grown since the plan was made', async () => {
  const one = createPool({
    connectionString: database.url,
    name: 'one connection',
    max: 1,
    onError: () => undefined,
  });
  const onOne = createDatabase(one);
  const enqueueOne = (key: string) => onOne.transaction((tx) => enqueue(sqlOf(tx), [job(key)]));
  for (let n = 0; n < 10; n += 1) await enqueueOne(`small ${n}`);
  const many = Array.from({ length: 5000 }, (_, n) => job(`many ${n}`));
  await db.transaction((tx) => enqueue(sqlOf(tx), many));
  const rowsRead = await onOne.transaction(async (tx) => {
    const read = async () => {
      const { rows } = await tx.execute<{ read: string }>(
        `SELECT seq_tup_read AS read FROM pg_stat_xact_user_tables WHERE relname = 'delivery_job'`,
      );
      return Number(rows[0]?.read);
    };
    const before = await read();
    await enqueue(sqlOf(tx), [job('large')]);
    return (await read()) - before;
  });
  expect(rowsRead).toBe(0);
  await one.end();
});
