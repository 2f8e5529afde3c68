import type { PoolClient } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { createDatabase, createPool, type Pool } from './pool.js';

let database: TestDatabase;
let pool: Pool;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = createPool({
    connectionString: database.url,
    name: 'pool test',
    max: 1,
    onError: () => undefined,
  });
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const cut = (client: PoolClient) => {
  Reflect.get(client, 'connection').stream.destroy();
};

test('a transaction whose connection is cut before BEGIN takes no place in the pool for ever', async () => {
  const db = createDatabase(pool);
  await db.execute('SELECT 1');
  pool.once('acquire', cut);
  await expect(db.transaction((tx) => tx.execute('SELECT 1'))).rejects.toThrow();
  expect(pool.totalCount).toBe(0);
  const { rows } = await db.transaction((tx) => tx.execute('SELECT 2 AS two'));
  expect(rows).toEqual([{ two: 2 }]);
});

test('a transaction whose connection is cut under way gives its place back', async () => {
  const db = createDatabase(pool);
  const broken = db.transaction(async (tx) => {
    await tx.execute('SELECT pg_terminate_backend(pg_backend_pid())');
  });
  await expect(broken).rejects.toThrow();
  const { rows } = await db.transaction((tx) => tx.execute('SELECT 2 AS two'));
  expect(rows).toEqual([{ two: 2 }]);
});
