import { sql } from 'drizzle-orm';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';

import { startTcpProxy, type TcpProxy } from '../../../test/support/tcp-proxy.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { databaseErrorCode, isDatabaseOutage } from './database-error.js';
import { inTransaction } from './in-transaction.js';
import { createPool, type Pool, type Transaction } from './pool.js';

const SLOTS = 2;

let database: TestDatabase;
let proxy: TcpProxy;
let pool: Pool;

beforeEach(async () => {
  database = await createTestDatabase();
  proxy = await startTcpProxy({ targetPort: Number(new URL(database.url).port) });
  pool = createPool({
    connectionString: proxy.urlFor(database.url),
    name: 'transaction test',
    max: SLOTS,
    onError: () => undefined,
  });
  await pool.query(`
    CREATE TABLE parent (id int PRIMARY KEY);
    CREATE TABLE note (text text UNIQUE, parent int REFERENCES parent DEFERRABLE INITIALLY DEFERRED)`);
});
afterEach(async () => {
  await pool.end();
  await proxy.stop();
  await database.drop();
});

const write = (tx: Transaction, text: string) =>
  tx.execute(sql`INSERT INTO note (text) VALUES (${text})`);

const notes = async (): Promise<string[]> => {
  const { rows } = await pool.query<{ text: string }>('SELECT text FROM note ORDER BY text');
  return rows.map((row) => row.text);
};

/** Runs `work` in every slot of the pool at once; all have their connection before one goes on. */
async function inEverySlot<T>(work: (tx: Transaction) => Promise<T>): Promise<unknown[]> {
  let missing = SLOTS;
  let goOn: () => void = () => undefined;
  const all = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const runs = Array.from({ length: SLOTS }, () =>
    inTransaction(pool, async (tx) => {
      missing -= 1;
      if (missing === 0) goOn();
      await all;
      return work(tx);
    }).catch((error: unknown) => error),
  );
  return Promise.all(runs);
}

/** The promise that matters after a fault: no slot is lost, and none holds a broken connection. */
async function expectAllSlots(): Promise<void> {
  const answers = await inEverySlot(async (tx) => (await tx.execute('SELECT 1 AS one')).rows);
  expect(answers).toEqual(Array.from({ length: SLOTS }, () => [{ one: 1 }]));
  expect(pool).toMatchObject({ totalCount: SLOTS, idleCount: SLOTS, waitingCount: 0 });
}

function countAcquired(count: number): Promise<void> {
  return new Promise((resolve) => {
    let acquired = 0;
    pool.on('acquire', () => {
      acquired += 1;
      if (acquired === count) resolve();
    });
  });
}

describe('the end of a transaction', () => {
  test('commits what the work wrote and returns its result', async () => {
    const result = await inTransaction(pool, async (tx) => {
      await write(tx, 'kept');
      return 'done';
    });
    expect(result).toBe('done');
    expect(await notes()).toEqual(['kept']);
  });

  test('keeps nothing of work that throws, and throws the same error', async () => {
    const mine = new Error('mine');
    const failed = inTransaction(pool, async (tx) => {
      await write(tx, 'undone');
      throw mine;
    });
    await expect(failed).rejects.toBe(mine);
    expect(await notes()).toEqual([]);
  });

  test('keeps nothing of work that rolls back by tx.rollback()', async () => {
    const failed = inTransaction(pool, async (tx) => {
      await write(tx, 'undone');
      tx.rollback();
    });
    await expect(failed).rejects.toThrow('Rollback');
    expect(await notes()).toEqual([]);
  });

  test('keeps what was before a savepoint that rolled back', async () => {
    await inTransaction(pool, async (tx) => {
      await write(tx, 'outer');
      const inner = tx.transaction(async (nested) => {
        await write(nested, 'inner');
        nested.rollback();
      });
      await expect(inner).rejects.toThrow('Rollback');
    });
    expect(await notes()).toEqual(['outer']);
  });

  test('uses the connection again after the work’s own error', async () => {
    const pid = (tx: Transaction) => tx.execute('SELECT pg_backend_pid() AS pid');
    let before: unknown;
    await inTransaction(pool, async (tx) => {
      before = (await pid(tx)).rows;
      throw new Error('mine');
    }).catch(() => undefined);
    expect((await inTransaction(pool, pid)).rows).toEqual(before);
  });

  test('does not report as kept what a swallowed error undid', async () => {
    await inTransaction(pool, (tx) => write(tx, 'taken'));
    const failed = inTransaction(pool, async (tx) => {
      await write(tx, 'undone');
      await write(tx, 'taken').catch(() => undefined);
    });
    await expect(failed).rejects.toThrow('Nothing was kept');
    expect(await notes()).toEqual(['taken']);
    await expectAllSlots();
  });

  test('fails with the reason of a refused commit', async () => {
    const failed: unknown = await inTransaction(pool, (tx) =>
      tx.execute(`INSERT INTO note VALUES ('orphan', 1)`),
    ).catch((error: unknown) => error);
    expect(databaseErrorCode(failed)).toBe('23503');
    expect(await notes()).toEqual([]);
    await expectAllSlots();
  });
});

describe('a connection that breaks costs the pool no slot', () => {
  test('before BEGIN is answered', async () => {
    await expectAllSlots();
    proxy.blackHole();
    const acquired = countAcquired(SLOTS);
    const both = inEverySlot((tx) => write(tx, 'never'));
    await acquired;
    await proxy.cut();
    expect((await both).map(isDatabaseOutage)).toEqual([true, true]);
    expect(pool.totalCount).toBe(0);
    await proxy.resume();
    await expectAllSlots();
    expect(await notes()).toEqual([]);
  });

  test('during the work', async () => {
    const failures = await inEverySlot(async (tx) => {
      proxy.blackHole();
      const answer = write(tx, 'never');
      await proxy.cut();
      await answer;
    });
    expect(failures.map(isDatabaseOutage)).toEqual([true, true]);
    expect(pool.totalCount).toBe(0);
    await proxy.resume();
    await expectAllSlots();
    expect(await notes()).toEqual([]);
  });

  test('before COMMIT is answered', async () => {
    const cuts: Promise<void>[] = [];
    const failures = await inEverySlot(async () => {
      proxy.blackHole();
      // By then COMMIT is on its way.
      setImmediate(() => cuts.push(proxy.cut()));
    });
    await Promise.all(cuts);
    expect(failures.map(isDatabaseOutage)).toEqual([true, true]);
    expect(pool.totalCount).toBe(0);
    await proxy.resume();
    await expectAllSlots();
  });

  test('before ROLLBACK is answered; the work’s error is the one that is thrown', async () => {
    const mine = new Error('mine');
    const cuts: Promise<void>[] = [];
    const failures = await inEverySlot(async () => {
      proxy.blackHole();
      setImmediate(() => cuts.push(proxy.cut()));
      throw mine;
    });
    await Promise.all(cuts);
    expect(failures).toEqual([mine, mine]);
    expect(pool.totalCount).toBe(0);
    await proxy.resume();
    await expectAllSlots();
  });

  test('without anybody being told: a statement that timed out is the last one on its connection', async () => {
    const impatient = new pg.Pool({
      connectionString: proxy.urlFor(database.url),
      max: 1,
      query_timeout: 300,
    });
    onTestFinished(() => impatient.end());
    const spies: unknown[] = [];
    impatient.once('acquire', (client) => spies.push(vi.spyOn(client, 'query')));
    impatient.on('error', () => undefined);
    impatient.on('connect', (client) => client.on('error', () => undefined));
    const failed: unknown = await inTransaction(impatient, async (tx) => {
      await tx.execute('SELECT 1');
      proxy.blackHole();
      await tx.execute('SELECT 2');
    }).catch((error: unknown) => error);
    expect(isDatabaseOutage(failed)).toBe(true);
    // BEGIN and the two: no ROLLBACK that would wait as long again.
    expect(spies[0]).toHaveBeenCalledTimes(3);
    expect(impatient.totalCount).toBe(0);
    await proxy.resume();
    expect(await inTransaction(impatient, async () => 'served')).toBe('served');
  });

  test('when there is no connection to be had', async () => {
    await expectAllSlots();
    await proxy.cut();
    const failures = await Promise.all(
      [1, 2, 3].map(() =>
        inTransaction(pool, async () => 'never').catch((error: unknown) => error),
      ),
    );
    expect(failures.map(isDatabaseOutage)).toEqual([true, true, true]);
    await proxy.resume();
    await expectAllSlots();
  });
});
