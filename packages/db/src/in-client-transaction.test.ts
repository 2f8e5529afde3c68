import { afterEach, beforeEach, expect, test } from 'vitest';

import { type ProofDatabase, startProofDatabase } from '../../../test/support/proof-world.js';
import { refuseToWaitForDisk } from '../../../test/support/refuse-to-wait-for-disk.js';
import { Stops } from '../../../test/support/stops.js';
import { openPool } from '../../../test/support/test-database.js';
import { waitUntil } from '../../../test/support/wait-until.js';
import { databaseErrorCode, DatabaseUnavailableError } from './database-error.js';
import { inClientTransaction } from './in-client-transaction.js';
import { dropConnections, type Pool } from './pool.js';

// A standby that never comes stands for a disk that takes its time: what waits for one waits for the other.
const SETTINGS = { synchronous_standby_names: 'nobody', synchronous_commit: 'local' };

let stops: Stops;
let server: ProofDatabase;
let pool: Pool;
let heard: number;

beforeEach(async () => {
  stops = new Stops();
  server = await startProofDatabase(stops, SETTINGS);
  await server.pool.query('CREATE TABLE counter (name text PRIMARY KEY, n int NOT NULL DEFAULT 0)');
  await server.pool.query(`INSERT INTO counter VALUES ('a'), ('b')`);
  const listener = await server.pool.connect();
  stops.add(() => listener.release(true));
  heard = 0;
  listener.on('notification', () => {
    heard += 1;
  });
  await listener.query('LISTEN counted');
  pool = openPool(`${server.url}?options=-c%20synchronous_commit%3Don`, 4);
  stops.add(() => pool.end());
  stops.add(() => dropConnections(pool));
});
afterEach(() => stops.run());

/** Counts, and wakes who listens. */
function count(name: string): Promise<number> {
  return inClientTransaction(pool, async (client) => {
    const { rows } = await client.query<{ n: number }>(
      'UPDATE counter SET n = n + 1 WHERE name = $1 RETURNING n',
      [name],
    );
    await client.query(`SELECT pg_notify('counted', '')`);
    return rows[0]?.n ?? 0;
  });
}

/** What waits for the standby does no longer, as if it had come: the commit stands, with a warning. */
const written = () =>
  server.pool.query(
    `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
  );

const waiting = async (): Promise<string[]> => {
  const { rows } = await server.pool.query<{ event: string }>(
    `SELECT wait_event AS event FROM pg_stat_activity WHERE wait_event_type IN ('IPC', 'Lock') AND backend_type = 'client backend'`,
  );
  return rows.map(({ event }) => event);
};

test('commits that wake somebody, or wait for one row, are written to the disk together, and none is answered before', async () => {
  const answers: number[] = [];
  const names = ['a', 'b', 'b', 'a'];
  const over = Promise.allSettled(names.map(async (name) => answers.push(await count(name))));
  // None waits for a lock.
  const allWritten = names.map(() => 'SyncRep').join();
  await waitUntil(async () => (await waiting()).join() === allWritten, {
    what: 'four commits on their way to the disk',
  });
  await waitUntil(() => heard === names.length, { what: 'their notifications' });
  expect(answers).toEqual([]);

  await written();
  await over;
  expect(answers.toSorted((one, other) => one - other)).toEqual([1, 1, 2, 2]);
});

test('where waiting for the disk is refused, nobody claims that nothing was kept', async () => {
  await server.pool.query('CREATE ROLE clerk LOGIN');
  await server.pool.query('GRANT SELECT, UPDATE ON counter TO clerk');
  await refuseToWaitForDisk(server.pool);
  const clerks = openPool(`${server.url}?options=-c%20role%3Dclerk`);
  stops.add(() => clerks.end());
  const failed: unknown = await inClientTransaction(clerks, (client) =>
    client.query(`UPDATE counter SET n = 7 WHERE name = 'a'`),
  ).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(DatabaseUnavailableError);
  expect(databaseErrorCode(failed)).toBe('42501');
  expect(failed).toMatchObject({
    message: expect.stringMatching(
      /^Nobody knows whether the transaction was kept.*pg_logical_emit_message/u,
    ),
  });
  expect(clerks.totalCount).toBe(0);
  expect((await server.pool.query(`SELECT n FROM counter WHERE name = 'a'`)).rows).toEqual([
    { n: 7 },
  ]);
});

test('a transaction that only reads waits for no disk', async () => {
  const read = await inClientTransaction(
    pool,
    (client) => client.query<{ level: string }>('SHOW transaction_isolation'),
    { readOnly: true },
  );
  expect(read.rows).toEqual([{ transaction_isolation: 'repeatable read' }]);
});
