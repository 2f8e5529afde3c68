import { createHash } from 'node:crypto';

import { createPool, type Pool } from '@ghost/db';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { AccountError, addAccount, addToken, loginOfToken } from './accounts.js';

let database: TestDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({
    connectionString: database.url,
    name: 'accounts test',
    max: 4,
    onError: () => undefined,
  });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

async function problemOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AccountError)) throw new Error(`No AccountError: ${String(error)}`);
  return error.problem;
}

describe('addAccount', () => {
  test('makes an account whose address is verified, and a token of which only the SHA-256 is kept', async () => {
    const added = await addAccount(pool, { login: 'ada', email: 'ada@example.test', admin: true });
    expect(added.token).toMatch(/^ghs_[0-9A-Za-z]{40}$/u);
    const { rows } = await pool.query(
      `SELECT a.login, a.name, a.email, a.is_admin, a.email_verified_at <= now() AS verified, t.token_hash
       FROM account a JOIN api_token t ON t.account_id = a.id WHERE a.id = $1`,
      [added.id],
    );
    expect(rows).toEqual([
      {
        login: 'ada',
        name: 'ada',
        email: 'ada@example.test',
        is_admin: true,
        verified: true,
        token_hash: createHash('sha256').update(added.token).digest(),
      },
    ]);
    const everything = await pool.query('SELECT t::text AS row FROM api_token t');
    expect(JSON.stringify(everything.rows)).not.toContain(added.token);
  });

  test('refuses a login that differs only in case, and leaves no half account behind', async () => {
    await addAccount(pool, { login: 'Brian', email: 'brian@example.test' });
    const before = await pool.query('SELECT count(*) FROM api_token');
    expect(await problemOf(addAccount(pool, { login: 'brIAN', email: 'other@example.test' }))).toBe(
      'login_taken',
    );
    expect((await pool.query('SELECT count(*) FROM api_token')).rows).toEqual(before.rows);
  });

  test('gives a login to one of many who ask at once', async () => {
    const tries = await Promise.allSettled(
      Array.from({ length: 8 }, () =>
        addAccount(pool, { login: 'contested', email: 'c@example.test' }),
      ),
    );
    expect(tries.filter((one) => one.status === 'fulfilled')).toHaveLength(1);
  });

  test.each([
    ['bad_login', { login: '', email: 'a@example.test' }],
    ['bad_login', { login: '-dash', email: 'a@example.test' }],
    ['bad_login', { login: 'with space', email: 'a@example.test' }],
    ['bad_login', { login: 'a'.repeat(40), email: 'a@example.test' }],
    ['bad_login', { login: 'line\n', email: 'a@example.test' }],
    ['bad_email', { login: 'fine', email: 'nobody' }],
    ['bad_email', { login: 'fine', email: 'a@b@' }],
    ['bad_email', { login: 'fine', email: 'a@exa mple.test' }],
    ['bad_email', { login: 'fine', email: 'u@example.test, evil@example.test' }],
    ['bad_email', { login: 'fine', email: 'a@example.test\r\nBcc: x@example.test' }],
    ['bad_email', { login: 'fine', email: `${'a'.repeat(65)}@example.test` }],
    ['bad_name', { login: 'fine', email: 'a@example.test', name: 'Doe\r\nBcc: x' }],
    ['bad_name', { login: 'fine', email: 'a@example.test', name: ' ' }],
  ])('says %s of %j', async (problem, account) => {
    expect(await problemOf(addAccount(pool, account))).toBe(problem);
  });

  test.each(['Doe, Jane', 'Žofie "the" <x@y>', '😀', '李小龍'])(
    'takes the name %s as it is',
    async (name) => {
      const login = `n-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
      const { id } = await addAccount(pool, { login, email: 'n@example.test', name });
      expect((await pool.query('SELECT name FROM account WHERE id = $1', [id])).rows).toEqual([
        { name },
      ]);
    },
  );
});

describe('addToken', () => {
  test('makes a second token that opens the same account until it is revoked', async () => {
    await addAccount(pool, { login: 'chika', email: 'chika@example.test' });
    const token = await addToken(pool, 'CHIKA', 'laptop');
    expect(await loginOfToken(pool, token)).toBe('chika');
    await pool.query(`UPDATE api_token SET revoked_at = now() WHERE label = 'laptop'`);
    expect(await loginOfToken(pool, token)).toBeNull();
  });

  test('says when there is no such account', async () => {
    expect(await problemOf(addToken(pool, 'nobody', 'laptop'))).toBe('unknown_login');
  });
});
