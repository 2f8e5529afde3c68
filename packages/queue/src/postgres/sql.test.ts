import type { Pool } from '@ghost/db';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import { sqlOfPool } from './sql.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const TEXT = 'SELECT $1::int AS n';
const KEPT = 'SELECT name FROM pg_prepared_statements';
/** Two that share nothing but the server. */
const connections = () => [database.pool(1), database.pool(1)] as const;

async function nameOnServer(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ name: string }>(KEPT);
  if (rows.length !== 1 || rows[0] === undefined) throw new Error(`${rows.length} are kept`);
  return rows[0].name;
}

test('a statement is kept by the connection where that was asked for, under a name that follows from its text', async () => {
  const [one, other] = connections();
  await sqlOfPool(one).query(TEXT, [1]);
  expect((await one.query(KEPT)).rows).toEqual([]);
  const sql = sqlOfPool(one, { prepared: true });
  expect(await sql.query(TEXT, [1])).toEqual([{ n: 1 }]);
  expect(await sql.query(TEXT, [2])).toEqual([{ n: 2 }]);
  const elsewhere = sqlOfPool(other, { prepared: true });
  await elsewhere.query(TEXT, [3]);
  expect(await nameOnServer(other)).toBe(await nameOnServer(one));
  await elsewhere.query('SELECT 1 AS other', []);
  expect((await other.query(KEPT)).rowCount).toBe(2);
});

test('one that is gone, as behind a pooler, is run as if it had never been kept', async () => {
  const [one] = connections();
  const sql = sqlOfPool(one, { prepared: true });
  await sql.query(TEXT, [1]);
  await one.query('DEALLOCATE ALL');
  expect(await sql.query(TEXT, [2])).toEqual([{ n: 2 }]);
});

test('one that is there already is run all the same', async () => {
  const [one, other] = connections();
  await sqlOfPool(one, { prepared: true }).query(TEXT, [1]);
  await other.query(`PREPARE "${await nameOnServer(one)}" AS SELECT 'of another client'`);
  expect(await sqlOfPool(other, { prepared: true }).query(TEXT, [2])).toEqual([{ n: 2 }]);
});

test('one whose answer a migration changed is planned anew', async () => {
  const [one] = connections();
  const made = (columns: string, text: string) =>
    one.query(
      `DROP FUNCTION IF EXISTS told(); CREATE FUNCTION told() RETURNS TABLE (${columns}) LANGUAGE sql AS '${text}'`,
    );
  await made('a int', 'SELECT 1');
  const sql = sqlOfPool(one, { prepared: true });
  expect(await sql.query('SELECT * FROM told()', [])).toEqual([{ a: 1 }]);
  await made('a int, b int', 'SELECT 1, 2');
  expect(await sql.query('SELECT * FROM told()', [])).toEqual([{ a: 1, b: 2 }]);
});

test('what is wrong with a statement itself is said, and it is not run twice', async () => {
  const [one] = connections();
  await one.query('CREATE SEQUENCE tries');
  const failing = `SELECT nextval('tries'), 1 / $1::int`;
  const sql = sqlOfPool(one, { prepared: true });
  await expect(sql.query(failing, [0])).rejects.toMatchObject({ code: '22012' });
  const { rows } = await one.query<{ last_value: string }>('SELECT last_value FROM tries');
  expect(rows[0]?.last_value).toBe('1');
});
