import type { ApiScope } from '@ghost/db';
import { addToken, listAudit } from '@ghost/operations';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import {
  type Answer,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../../test/support/test-api.js';

let testApi: TestApi;
let ann: Person;
let people = 0;

beforeAll(async () => {
  testApi = await startTestApi();
});
afterAll(() => testApi.stop());
beforeEach(async () => {
  people += 1;
  ann = await testApi.addPerson(`ann-${people}`);
});

/** Asks as Ann, by another of her tokens. */
async function by(token: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${testApi.url}/api${path}`, {
    method,
    headers: {
      authorization: `token ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text),
  };
}

const tokenOf = async (scopes: ApiScope[], expiresAt: Date | null = null) =>
  addToken(testApi.pool, { accountId: ann.id, label: 'own', scopes, expiresAt, actor: null });

const WANTED = { label: 'ci', scopes: ['repo'] };
const hours = (count: number) => new Date(Date.now() + count * 3_600_000).toISOString();

describe('making a token', () => {
  test('shows it once, and it opens what its scopes say, until its end', async () => {
    const end = hours(1);
    const made = await ann.ask('POST', '/user/tokens', { ...WANTED, expires_at: end });
    expect(made.status).toBe(201);
    expect(made.headers.get('cache-control')).toBe('no-store');
    expect(made.body).toEqual({
      id: expect.any(Number),
      label: 'ci',
      scopes: ['repo'],
      created_at: expect.stringMatching(/^\d{4}-.*Z$/u),
      expires_at: end,
      token: expect.stringMatching(/^ghs_[0-9A-Za-z]{40}$/u),
    });
    const { token } = made.body;
    expect((await by(token, 'GET', '/user')).body.login).toBe(ann.login);
    expect(await by(token, 'GET', '/user/tokens')).toMatchObject({
      status: 403,
      body: { code: 'missing_scope' },
    });
    const list = await ann.ask('GET', '/user/tokens');
    expect(JSON.stringify(list.body)).not.toContain('ghs_');
    const [line] = await listAudit(testApi.pool, { account: ann.login });
    expect(line).toMatchObject({
      action: 'token.added',
      actor: ann.login,
      tokenId: expect.any(Number),
    });
    await testApi.pool.query(
      `UPDATE api_token SET created_at = now() - interval '2 h', expires_at = now() - interval '1 s' WHERE id = $1`,
      [made.body.id],
    );
    expect(await by(token, 'GET', '/user')).toMatchObject({
      status: 401,
      body: { code: 'bad_credentials' },
    });
  });

  test('passes on no scope that the token in use lacks', async () => {
    const own = await tokenOf(['admin', 'repo']);
    const refused = await by(own.token, 'POST', '/user/tokens', {
      label: 'more',
      scopes: ['repo', 'hooks'],
    });
    expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    expect(refused.body.message).toContain('"hooks"');
    expect((await by(own.token, 'POST', '/user/tokens', WANTED)).status).toBe(201);
  });

  test('passes on no more time than the token in use has', async () => {
    const own = await tokenOf(['admin', 'repo'], new Date(hours(1)));
    for (const end of [undefined, null, hours(2)]) {
      const refused = await by(own.token, 'POST', '/user/tokens', { ...WANTED, expires_at: end });
      expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    }
    const within = { ...WANTED, expires_at: hours(0.5) };
    expect((await by(own.token, 'POST', '/user/tokens', within)).status).toBe(201);
  });

  test.each([
    ['label', 'missing_field', { scopes: ['repo'] }],
    ['label', 'missing_field', { ...WANTED, label: ' ' }],
    ['label', 'too_long', { ...WANTED, label: 'x'.repeat(101) }],
    ['label', 'invalid', { ...WANTED, label: 'a\r\nb' }],
    ['scopes', 'missing_field', { label: 'x' }],
    ['scopes', 'invalid', { ...WANTED, scopes: [] }],
    ['scopes', 'invalid', { ...WANTED, scopes: ['repo', 'repo'] }],
    ['scopes.0', 'invalid', { ...WANTED, scopes: ['root'] }],
    ['scopes', 'invalid', { ...WANTED, scopes: 'repo' }],
    ['expires_at', 'invalid', { ...WANTED, expires_at: 'tomorrow' }],
    ['expires_at', 'invalid', { ...WANTED, expires_at: '2001-01-01T00:00:00Z' }],
    ['expires_at', 'invalid', { ...WANTED, expires_at: '2999-02-31T00:00:00Z' }],
    ['account', 'unknown_field', { ...WANTED, account: 1 }],
  ])('names %s (%s) of %j', async (field, code, body) => {
    const answer = await ann.ask('POST', '/user/tokens', body);
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toEqual(
      expect.arrayContaining([{ field, code, message: expect.any(String) }]),
    );
  });

  test('that ends about now is made, or refused by name', async () => {
    for (let ms = 0; ms < 12; ms += 1) {
      const end = new Date(Date.now() + ms).toISOString();
      const { status, body } = await ann.ask('POST', '/user/tokens', {
        ...WANTED,
        expires_at: end,
      });
      if (status === 201) continue;
      expect({ status, body }).toMatchObject({
        status: 422,
        body: { errors: [{ field: 'expires_at', code: 'invalid' }] },
      });
    }
  });

  test('stops at 100 live ones', async () => {
    await testApi.pool.query(
      `INSERT INTO api_token (account_id, label, token_hash, scopes)
       SELECT $1::bigint, 'filler', sha256(convert_to($1::bigint || ' ' || n, 'UTF8')), '{repo}' FROM generate_series(1, 99) n`,
      [ann.id],
    );
    const answer = await ann.ask('POST', '/user/tokens', WANTED);
    expect(answer).toMatchObject({ status: 422, body: { code: 'too_many' } });
  });
});

describe('the list', () => {
  test('is the newest first, by pages that Link leads through, without what was revoked', async () => {
    const ids: number[] = [];
    for (const label of ['a', 'b', 'c']) {
      ids.push((await ann.ask('POST', '/user/tokens', { ...WANTED, label })).body.id);
    }
    await ann.ask('DELETE', `/user/tokens/${ids[1]}`);
    const one = await ann.ask('GET', '/user/tokens?per_page=2');
    expect(one.body.map(({ label }: { label: string }) => label)).toEqual(['c', 'a']);
    const next = /<[^>]*\/api([^>]*)>; rel="next"/u.exec(one.headers.get('link') ?? '')?.[1];
    const two = await ann.ask('GET', String(next));
    expect(two.body.map(({ label }: { label: string }) => label)).toEqual(['first token']);
    expect(two.headers.get('link')).not.toContain('rel="next"');
  });
});

describe('revoking', () => {
  test('ends a token at once; again, and of another, it is absent', async () => {
    const { id, token } = await tokenOf(['repo']);
    const other = await testApi.addPerson(`other-${people}`);
    expect((await other.ask('DELETE', `/user/tokens/${id}`)).status).toBe(404);
    expect((await by(token, 'GET', '/user')).status).toBe(200);
    expect((await ann.ask('DELETE', `/user/tokens/${id}`)).status).toBe(204);
    expect((await by(token, 'GET', '/user')).status).toBe(401);
    for (const path of [id, 0, 'x', '9'.repeat(30)]) {
      expect((await ann.ask('DELETE', `/user/tokens/${path}`)).status).toBe(404);
    }
  });

  test('may be of the token in use', async () => {
    const own = await tokenOf(['admin']);
    expect((await by(own.token, 'DELETE', `/user/tokens/${own.id}`)).status).toBe(204);
    expect((await by(own.token, 'GET', '/user')).status).toBe(401);
  });
});
