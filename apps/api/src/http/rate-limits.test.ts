import { afterEach, describe, expect, test, vi } from 'vitest';

import { keptLog } from '../../../../test/support/kept-log.js';
import {
  type Json,
  startTestApi,
  type TestApi,
  type TestApiOptions,
} from '../../../../test/support/test-api.js';
import { AccountsService } from '../accounts/accounts.service.js';

let api: TestApi;
let lookUps = 0;
const { logger, lines } = keptLog();
const logged = (): Json[] => lines.map((line) => JSON.parse(line));

afterEach(async () => {
  vi.useRealTimers();
  await api.stop();
});

async function start(env: TestApiOptions['env'] = {}): Promise<void> {
  lookUps = 0;
  lines.length = 0;
  api = await startTestApi({
    env,
    logger,
    instrument: (instance) => {
      if (instance instanceof AccountsService) {
        const find = instance.findByToken.bind(instance);
        instance.findByToken = (token) => {
          lookUps += 1;
          return find(token);
        };
      }
      return instance;
    },
  });
}

async function send(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${api.url}${path}`, { headers });
  const body: Json = await response.json().catch(() => undefined);
  return { status: response.status, headers: response.headers, body };
}

const limitOf = ({ headers }: { headers: Headers }) =>
  ['limit', 'remaining', 'used', 'resource'].map((name) => headers.get(`x-ratelimit-${name}`));

describe('by account', () => {
  test('each request is counted in GitHub’s headers; too many are a 429 that costs no statement', async () => {
    await start({ GHOST_RATE_LIMIT: '2' });
    const ada = await api.addPerson('ada');
    const bob = await api.addPerson('bob');
    const first = await ada.ask('GET', '/user');
    expect(limitOf(first)).toEqual(['2', '1', '1', 'core']);
    const reset = Number(first.headers.get('x-ratelimit-reset'));
    expect(reset - Date.now() / 1000).toBeGreaterThan(3590);
    expect(reset - Date.now() / 1000).toBeLessThan(3602);
    expect(limitOf(await ada.ask('GET', '/repos/ada/absent'))).toEqual(['2', '0', '2', 'core']);

    const before = lookUps;
    const refused = await ada.ask('GET', '/user');
    expect(refused.status).toBe(429);
    expect(limitOf(refused)).toEqual(['2', '0', '2', 'core']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3590);
    expect(refused.body).toEqual({
      code: 'rate_limited',
      message: expect.stringMatching(/2 requests an hour by one account.*Try again in \d+ s/u),
    });
    expect(lookUps).toBe(before);
    // Whoever has another account is not touched.
    expect((await bob.ask('GET', '/user')).status).toBe(200);
    // It may be asked a thousand times: the log at its usual level does not grow.
    expect(logged().filter(({ status }) => status === 429)).toEqual([]);
  });

  test('after the hour it starts again', async () => {
    await start({ GHOST_RATE_LIMIT: '1' });
    const ada = await api.addPerson('ada');
    await ada.ask('GET', '/user');
    expect((await ada.ask('GET', '/user')).status).toBe(429);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_001 });
    expect(limitOf(await ada.ask('GET', '/user'))).toEqual(['1', '0', '1', 'core']);
  });

  test('many at once do not get by', async () => {
    await start({ GHOST_RATE_LIMIT: '5' });
    const ada = await api.addPerson('ada');
    await ada.ask('GET', '/user');
    const answers = await Promise.all(Array.from({ length: 20 }, () => ada.ask('GET', '/user')));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(4);
  });

  test('an account that makes itself more tokens has no more requests', async () => {
    await start({ GHOST_RATE_LIMIT: '4' });
    const ada = await api.addPerson('ada');
    const made = await ada.ask('POST', '/user/tokens', {
      label: 'more',
      scopes: ['repo', 'admin'],
    });
    const spare = await ada.ask('POST', '/user/tokens', { label: 'spare', scopes: ['repo'] });
    const ask = (token: string) => send('/api/user', { authorization: `Bearer ${token}` });
    expect(limitOf(await ask(made.body.token))).toEqual(['4', '1', '3', 'core']);
    expect(limitOf(await ada.ask('GET', '/user'))).toEqual(['4', '0', '4', 'core']);
    let before = lookUps;
    expect((await ask(made.body.token)).status).toBe(429);
    expect(lookUps).toBe(before);
    // One that was never used is looked up once, to know whose it is.
    expect((await ask(spare.body.token)).status).toBe(429);
    before = lookUps;
    expect((await ask(spare.body.token)).status).toBe(429);
    expect(lookUps).toBe(before);
  });

  test('what the parser refuses is counted like every request', async () => {
    await start({ GHOST_RATE_LIMIT: '4', GHOST_RATE_LIMIT_ANONYMOUS: '2' });
    const ada = await api.addPerson('ada');
    const post = (body: string, headers: Record<string, string>) =>
      fetch(`${api.url}/api/user/repos`, { method: 'POST', body, headers });
    const authorization = `Bearer ${ada.token}`;
    const json = { authorization, 'content-type': 'application/json' };
    const statuses: number[] = [];
    for (const [body, headers] of [
      ['{', json],
      ['a', { authorization, 'content-type': 'text/plain' }],
      [`"${'a'.repeat(1_100_000)}"`, json],
      ['{"a":1}', json],
      ['{', json],
    ] as const) {
      statuses.push((await post(body, headers)).status);
    }
    expect(statuses).toEqual([400, 415, 413, 422, 429]);
    const anonymous = { 'content-type': 'application/json' };
    const refused: number[] = [];
    for (let n = 0; n < 3; n += 1) refused.push((await post('{', anonymous)).status);
    expect(refused).toEqual([401, 401, 429]);
  });

  test('0 is no limit, without headers', async () => {
    await start({ GHOST_RATE_LIMIT: '0' });
    const ada = await api.addPerson('ada');
    expect(limitOf(await ada.ask('GET', '/user'))).toEqual([null, null, null, null]);
  });
});

describe('by address', () => {
  test('without a token: counted apart from tokens, whatever is asked', async () => {
    await start({ GHOST_RATE_LIMIT_ANONYMOUS: '2' });
    const ada = await api.addPerson('ada');
    expect(limitOf(await send('/api/user'))).toEqual(['2', '1', '1', 'core']);
    expect((await send('/api/repos/ada/absent')).status).toBe(404);
    const refused = await send('/api/repos/ada/absent');
    expect(refused.status).toBe(429);
    expect(refused.body.message).toContain('without a token from one address');
    expect((await ada.ask('GET', '/user')).status).toBe(200);
  });

  test('probes, the document and pages of mails are not counted', async () => {
    await start({ GHOST_RATE_LIMIT_ANONYMOUS: '1' });
    for (const path of ['/healthz', '/readyz', '/metrics', '/api/openapi.json']) {
      const answer = await send(path);
      expect([200, 503]).toContain(answer.status);
      expect(limitOf(answer)).toEqual([null, null, null, null]);
    }
    expect((await send('/api/unsubscribe/x')).status).toBe(404);
    expect(limitOf(await send('/api/user'))).toEqual(['1', '0', '1', 'core']);
  });

  test('bad tokens: too many cost no statement, and lock out nobody whose token was good', async () => {
    await start({ GHOST_RATE_LIMIT_ANONYMOUS: '2' });
    const ada = await api.addPerson('ada');
    const bob = await api.addPerson('bob');
    await ada.ask('GET', '/user');
    for (const token of ['a', 'b']) {
      const answer = await send('/api/user', { authorization: `Bearer ${token}` });
      expect(answer.status).toBe(401);
      expect(answer.headers.get('x-ratelimit-resource')).toBe('sign_in');
    }
    const before = lookUps;
    const refused = await send('/api/user', { authorization: 'Bearer c' });
    expect(refused.status).toBe(429);
    expect(refused.body.message).toContain('with a bad token from one address');
    expect((await bob.ask('GET', '/user')).status).toBe(429);
    expect(lookUps).toBe(before);
    expect((await ada.ask('GET', '/user')).status).toBe(200);
    expect(logged().filter(({ event }) => event === 'api.sign_in_failed')).toMatchObject([
      { reason: 'unknown_token', address: '127.0.0.1', requestId: expect.any(String) },
      { reason: 'unknown_token' },
    ]);
  });

  test('a token that was good stays known while it is used, whatever its neighbours guess', async () => {
    await start({ GHOST_RATE_LIMIT: '5', GHOST_RATE_LIMIT_ANONYMOUS: '1' });
    const ada = await api.addPerson('ada');
    const began = Date.now();
    const statuses: number[] = [];
    // Longer than the hour of its count, which begins anew.
    for (let minute = 0; minute <= 150; minute += 30) {
      vi.useFakeTimers({ toFake: ['Date'], now: began + minute * 60_000 });
      statuses.push((await ada.ask('GET', '/user')).status);
      for (const token of ['a', 'b']) await send('/api/user', { authorization: `Bearer ${token}` });
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200]);
    vi.useFakeTimers({ toFake: ['Date'], now: began + 211 * 60_000 });
    await send('/api/user', { authorization: 'Bearer c' });
    expect((await ada.ask('GET', '/user')).status).toBe(429);
  });

  test('a token that was good and is revoked is tried once more, and then is any other', async () => {
    await start({ GHOST_RATE_LIMIT: '3', GHOST_RATE_LIMIT_ANONYMOUS: '1' });
    const ada = await api.addPerson('ada');
    await ada.ask('GET', '/user');
    await api.pool.query('UPDATE api_token SET revoked_at = now()');
    const statuses: number[] = [];
    for (let n = 0; n < 4; n += 1) statuses.push((await ada.ask('GET', '/user')).status);
    expect(statuses).toEqual([401, 429, 429, 429]);
  });
});

describe('who the client is', () => {
  const asked = (forwarded: string) => send('/api/user', { 'x-forwarded-for': forwarded });

  test('X-Forwarded-For is not believed unless a trusted proxy says it', async () => {
    await start({ GHOST_RATE_LIMIT_ANONYMOUS: '1' });
    expect((await asked('192.0.2.1')).status).toBe(401);
    expect((await asked('192.0.2.2')).status).toBe(429);
  });

  test('a trusted proxy names the client, and a client that writes the header itself gains nothing', async () => {
    await start({
      GHOST_RATE_LIMIT_ANONYMOUS: '1',
      GHOST_TRUSTED_PROXIES: '127.0.0.0/8,10.0.0.0/8',
    });
    expect((await asked('192.0.2.1')).status).toBe(401);
    expect((await asked('192.0.2.2')).status).toBe(401);
    expect((await asked('192.0.2.1')).status).toBe(429);
    // What stands before the address that the proxy saw was said by nobody who is trusted.
    expect((await asked('198.51.100.9, 192.0.2.1')).status).toBe(429);
    expect((await asked('198.51.100.9, 192.0.2.1, 10.1.2.3')).status).toBe(429);
    expect((await asked('2001:db8:1:2::1')).status).toBe(401);
    expect((await asked('2001:db8:1:2:ffff::9')).status).toBe(429);
    expect((await asked('2001:db8:1:3::1')).status).toBe(401);
    // No address: counted as the proxy itself, however long it is.
    expect((await asked('x'.repeat(8000))).status).toBe(401);
    expect((await asked('y'.repeat(8000))).status).toBe(429);
  });

  test('addresses with ports are read as addresses; what cannot be read is told once', async () => {
    await start({ GHOST_RATE_LIMIT_ANONYMOUS: '1', GHOST_TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8' });
    expect((await asked('203.0.113.5:4123')).status).toBe(401);
    expect((await asked('203.0.113.6:4123')).status).toBe(401);
    expect((await asked('203.0.113.5:4124')).status).toBe(429);
    expect((await asked('203.0.113.7, 10.1.2.3:80')).status).toBe(401);
    expect((await asked('[2001:db8::1]:443')).status).toBe(401);
    expect((await asked('2001:db8::2')).status).toBe(429);
    const warned = () => logged().filter(({ event }) => event === 'api.forwarded_for_unreadable');
    expect(warned()).toEqual([]);
    await asked('unknown');
    await asked('unknown');
    expect(warned()).toMatchObject([{ level: 40, said: 'unknown' }]);
  });
});
