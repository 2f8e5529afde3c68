import { createHash } from 'node:crypto';

import { type ApiScope, inTransaction, type Pool } from '@ghost/db';
import { sqlOfPool } from '@ghost/queue';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { problemOf } from '../../../test/support/problem-of.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { untilBlocked } from '../../../test/support/until-blocked.js';
import { addAccount, loginOfToken } from './accounts.js';
import { createToken } from './api-token.js';
import { listAudit } from './audit.js';
import type { ChangeIn } from './lock-account.js';
import {
  addToken,
  insertToken,
  listTokens,
  MAX_LIVE_TOKENS,
  type NewToken,
  revokeToken,
} from './tokens.js';

let database: TestDatabase;
let pool: Pool;
let people = 0;
/** A new account for each test. */
let login: string;
let accountId: number;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = database.pool(8);
});
afterAll(() => database.drop());
beforeEach(async () => {
  people += 1;
  login = `Person-${people}`;
  ({ id: accountId } = await addAccount(pool, { login, email: `p${people}@example.test` }));
});

type Wish = Omit<NewToken, 'login' | 'accountId'>;

const WISH: Wish = { label: 'laptop', scopes: ['repo'], expiresAt: null, actor: null };

const add = (more: Partial<Wish> = {}, at: ChangeIn = pool) =>
  addToken(at, { accountId, ...WISH, ...more });
const soon = (ms: number) => new Date(Date.now() + ms);
const tokenAudit = async () =>
  (await listAudit(pool, { account: login })).filter(({ action }) => action.startsWith('token.'));

describe('a new token', () => {
  test('opens the account, is shown once and kept as its SHA-256', async () => {
    const added = await add({ scopes: ['repo', 'hooks'] });
    expect(added).toMatchObject({ label: 'laptop', scopes: ['repo', 'hooks'], revokedAt: null });
    expect(await loginOfToken(pool, added.token)).toBe(login);
    const { rows } = await pool.query<{ hash: Buffer; row: string }>(
      'SELECT token_hash AS hash, t::text AS row FROM api_token t WHERE id = $1',
      [added.id],
    );
    expect(rows[0]?.hash).toEqual(createHash('sha256').update(added.token).digest());
    expect(rows[0]?.row).not.toContain(added.token);
    expect(JSON.stringify(await listTokens(pool, { accountId }))).not.toContain(added.token);
  });

  test('is for an account by its login too, without case', async () => {
    const { token } = await addToken(pool, { login: login.toUpperCase(), ...WISH });
    expect(await loginOfToken(pool, token)).toBe(login);
  });

  test('ends at its end', async () => {
    const added = await add({ expiresAt: soon(3_600_000) });
    expect(await loginOfToken(pool, added.token)).toBe(login);
    await pool.query(
      `UPDATE api_token SET created_at = now() - interval '2 hours', expires_at = now() - interval '1 second' WHERE id = $1`,
      [added.id],
    );
    expect(await loginOfToken(pool, added.token)).toBeNull();
  });

  test('is in the audit in its own transaction: one that is rolled back leaves neither', async () => {
    const failed = inTransaction(pool, async (tx) => {
      await add({}, tx);
      throw new Error('Changed my mind');
    });
    await expect(failed).rejects.toThrow('Changed my mind');
    expect(await tokenAudit()).toEqual([]);
    const added = await add({ label: 'kept' });
    const lines = await tokenAudit();
    expect(lines).toMatchObject([
      {
        action: 'token.added',
        actor: 'operator',
        subject: login,
        detail: { token: added.id, label: 'kept', scopes: ['repo'], expires_at: null },
      },
    ]);
    expect(JSON.stringify(lines)).not.toContain(added.token);
  });

  test.each<[string, Partial<Wish>]>([
    ['bad_label', { label: '' }],
    ['bad_label', { label: ' \t' }],
    ['bad_label', { label: 'two\nlines' }],
    ['bad_label', { label: 'two\u2028lines' }],
    ['bad_label', { label: 'nul\0' }],
    ['bad_label', { label: 'half \ud83d' }],
    ['bad_label', { label: '😀'.repeat(101) }],
    ['bad_scopes', { scopes: [] }],
    ['bad_scopes', { scopes: ['repo', 'root' as ApiScope] }],
    ['bad_scopes', { scopes: ['repo', 'repo'] }],
    ['bad_expiry', { expiresAt: new Date(0) }],
    ['bad_expiry', { expiresAt: new Date(Number.NaN) }],
    ['bad_expiry', { expiresAt: new Date(Date.UTC(10_000, 0)) }],
  ])('is refused as %s of %j', async (problem, more) => {
    expect(await problemOf(add(more))).toBe(problem);
  });

  test('may not end before it begins, by the database’s clock, whatever another clock said', async () => {
    const wish = { label: 'x', scopes: ['repo'] as const, token: createToken() };
    const ending = (expiresAt: Date) =>
      insertToken(sqlOfPool(pool), { id: accountId, login }, { ...wish, expiresAt });
    const passed = soon(0);
    expect(await problemOf(ending(passed))).toBe('bad_expiry');
    expect(await ending(soon(60_000))).toMatchObject({ label: 'x' });
  });

  test('takes a label of 100 characters, whatever they are', async () => {
    const label = '😀'.repeat(100);
    expect(await add({ label })).toMatchObject({ label });
  });

  test('is refused for an account that is not there', async () => {
    expect(await problemOf(addToken(pool, { login: 'nobody', ...WISH }))).toBe('unknown_login');
    expect(await problemOf(addToken(pool, { accountId: 999_999_999, ...WISH }))).toBe(
      'unknown_login',
    );
  });

  test('is refused above 100 live ones, also when many are asked for at once; ended ones do not count', async () => {
    await pool.query(
      `INSERT INTO api_token (account_id, label, token_hash, scopes)
       SELECT $1::bigint, 'filler', sha256(convert_to($1::bigint || ' ' || n, 'UTF8')), '{repo}' FROM generate_series(1, $2::integer) n`,
      [accountId, MAX_LIVE_TOKENS - 3],
    );
    const tries = await Promise.allSettled(Array.from({ length: 6 }, () => add()));
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    expect(await problemOf(add())).toBe('too_many_tokens');
    const [newest] = await listTokens(pool, { accountId, limit: 1 });
    await revokeToken(pool, { id: Number(newest?.id), actor: null });
    await add();
  });
});

describe('a token that an account makes by another', () => {
  const actorWith = async (more: Partial<Wish>) => {
    const own = await add(more);
    return { own, actor: { id: accountId, login, token: { id: own.id } } };
  };

  test('has no scope that the other does not hold', async () => {
    const { actor } = await actorWith({ scopes: ['admin', 'repo'] });
    expect(await problemOf(add({ actor, scopes: ['repo', 'hooks'] }))).toBe('scope_not_held');
    await add({ actor, scopes: ['repo'] });
    expect((await tokenAudit())[0]).toMatchObject({ actor: login, tokenId: actor.token.id });
  });

  test('does not outlive it', async () => {
    const { actor } = await actorWith({ expiresAt: soon(60_000) });
    for (const expiresAt of [null, soon(61_000)]) {
      expect(await problemOf(add({ actor, expiresAt }))).toBe('outlives_token');
    }
    await add({ actor, expiresAt: soon(30_000) });
  });

  test('is not made once the other is revoked, even when both happen at once', async () => {
    const { own, actor } = await actorWith({});
    let made: Promise<string> | undefined;
    await inTransaction(pool, async (tx) => {
      await revokeToken(tx, { id: own.id, actor: null });
      made = problemOf(add({ actor }));
      await untilBlocked(pool, 'the new token to wait for the account');
    });
    expect(await made).toBe('token_ended');
  });
});

describe('the list of tokens', () => {
  test('is the newest first, page by page, with what was revoked or without', async () => {
    const added = [];
    for (const label of ['a', 'b', 'c']) added.push(await add({ label }));
    await revokeToken(pool, { id: Number(added[1]?.id), actor: null });
    const labels = async (more: object) =>
      (await listTokens(pool, { accountId, ...more })).map(({ label }) => label);
    expect(await labels({})).toEqual(['c', 'b', 'a', 'first token']);
    expect(await labels({ limit: 2 })).toEqual(['c', 'b']);
    expect(await labels({ after: added[1]?.id, limit: 2 })).toEqual(['a', 'first token']);
    expect(await labels({ revoked: false })).toEqual(['c', 'a', 'first token']);
    expect(Object.keys((await listTokens(pool, { login }))[0] ?? {}).sort()).toEqual([
      'createdAt',
      'expiresAt',
      'id',
      'label',
      'revokedAt',
      'scopes',
    ]);
  });

  test('of nobody is an error, not an empty list', async () => {
    expect(await problemOf(listTokens(pool, { login: 'nobody' }))).toBe('unknown_login');
  });
});

describe('revoking', () => {
  test('ends a token at once, once, with one line in the audit', async () => {
    const { id, token } = await add();
    const results = await Promise.all(
      Array.from({ length: 4 }, () => revokeToken(pool, { id, actor: null })),
    );
    expect(results.sort()).toEqual(['absent', 'absent', 'absent', 'revoked']);
    expect(await loginOfToken(pool, token)).toBeNull();
    expect((await tokenAudit()).map(({ action }) => action)).toEqual([
      'token.revoked',
      'token.added',
    ]);
  });

  test('reaches no token of another account, and none that is not there', async () => {
    const { id, token } = await add();
    const other = await addAccount(pool, { login: `o-${people}`, email: 'o@example.test' });
    expect(await revokeToken(pool, { id, accountId: other.id, actor: null })).toBe('absent');
    expect(await revokeToken(pool, { id: 999_999_999, actor: null })).toBe('absent');
    expect(await loginOfToken(pool, token)).toBe(login);
  });
});
