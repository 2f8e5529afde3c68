import { createHash } from 'node:crypto';

import type { Pool } from '@ghost/db';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { problemOf } from '../../../test/support/problem-of.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { addAccount, listAccounts } from './accounts.js';
import { listAudit } from './audit.js';
import { addToken, listTokens, revokeToken } from './tokens.js';

let database: TestDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = database.pool(4);
});
afterAll(() => database.drop());

describe('addAccount', () => {
  test('makes an account whose address is verified, and a token of which only the SHA-256 is kept', async () => {
    const added = await addAccount(pool, { login: 'ada', email: 'ada@example.test', admin: true });
    expect(added.token).toMatch(/^ghs_[0-9A-Za-z]{40}$/u);
    const { rows } = await pool.query(
      `SELECT a.login, a.name, e.address AS email, a.is_admin, e.verified_at <= now() AS verified, t.token_hash
       FROM account a JOIN api_token t ON t.account_id = a.id
         JOIN email_address e ON e.account_id = a.id AND e.is_primary WHERE a.id = $1`,
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
    ['bad_email', { login: 'fine', email: 'a@127.0.0.1' }],
    ['bad_email', { login: 'fine', email: 'postmaster@1' }],
    ['bad_email', { login: 'fine', email: '=?utf-8?q?x?=@example.test' }],
    ['bad_email', { login: 'fine', email: 'a@b@' }],
    ['bad_email', { login: 'fine', email: 'a@exa mple.test' }],
    ['bad_email', { login: 'fine', email: 'u@example.test, evil@example.test' }],
    ['bad_email', { login: 'fine', email: 'a@example.test\r\nBcc: x@example.test' }],
    ['bad_email', { login: 'fine', email: `${'a'.repeat(65)}@example.test` }],
    ['bad_name', { login: 'fine', email: 'a@example.test', name: 'Doe\r\nBcc: x' }],
    ['bad_email', { login: 'fine', email: 'a@example.test\n' }],
    ['bad_email', { login: 'fine', email: 'a\0@example.test' }],
    [
      'bad_email',
      { login: 'fine', email: `${'a'.repeat(60)}@${'b'.repeat(60)}.${'c.'.repeat(70)}test` },
    ],
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

describe('the first token', () => {
  test('holds every scope, or those that are asked for', async () => {
    const all = await addAccount(pool, { login: 'dana', email: 'dana@example.test' });
    const few = await addAccount(pool, {
      login: 'emil',
      email: 'emil@example.test',
      scopes: ['repo'],
    });
    const scopesOf = async (accountId: number) =>
      (await listTokens(pool, { accountId })).map(({ scopes }) => scopes);
    expect(await scopesOf(all.id)).toEqual([['repo', 'hooks', 'admin']]);
    expect(await scopesOf(few.id)).toEqual([['repo']]);
  });

  test('is refused as a whole when a scope is unknown', async () => {
    const wish = { login: 'fred', email: 'fred@example.test', scopes: ['root' as 'repo'] };
    expect(await problemOf(addAccount(pool, wish))).toBe('bad_scopes');
    expect(await listAudit(pool, { account: 'fred' })).toEqual([]);
  });
});

test('the audit says who was added, and holds no token', async () => {
  const added = await addAccount(pool, { login: 'greta', email: 'greta@example.test' });
  const lines = await listAudit(pool, { account: 'greta' });
  expect(lines).toMatchObject([
    {
      action: 'account.added',
      actor: 'operator',
      subject: 'greta',
      detail: { address: 'greta@example.test', scopes: ['repo', 'hooks', 'admin'] },
    },
  ]);
  expect(JSON.stringify(lines)).not.toContain(added.token);
});

describe('listAccounts', () => {
  test('gives what an operator asks for, page by page, oldest first', async () => {
    const [h1, h2, h3] = [
      await addAccount(pool, { login: 'h-1', email: 'h1@example.test', name: 'H One' }),
      await addAccount(pool, { login: 'h-2', email: 'h2@example.test', admin: true }),
      await addAccount(pool, { login: 'h-3', email: 'h3@example.test' }),
    ];
    const more = { label: 'more', scopes: ['repo' as const], actor: null };
    await addToken(pool, { ...more, login: 'h-2', expiresAt: null });
    const ended = await addToken(pool, { ...more, login: 'h-2', expiresAt: null });
    await revokeToken(pool, { id: ended.id, actor: null });
    await pool.query('UPDATE email_address SET verified_at = NULL WHERE account_id = $1', [h3.id]);
    const first = await listAccounts(pool, { after: h1.id - 1, limit: 2 });
    expect(first).toMatchObject([
      {
        id: h1.id,
        login: 'h-1',
        name: 'H One',
        address: 'h1@example.test',
        verified: true,
        admin: false,
        liveTokens: 1,
      },
      { id: h2.id, admin: true, liveTokens: 2 },
    ]);
    expect(first[0]?.createdAt).toBeInstanceOf(Date);
    expect(await listAccounts(pool, { after: h2.id, limit: 2 })).toMatchObject([
      { id: h3.id, verified: false },
    ]);
  });
});
