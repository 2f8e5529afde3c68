import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { keyRingOf } from '../../../../test/support/key-ring-of.js';
import { startTestApi, type TestApi } from '../../../../test/support/test-api.js';
import { UnsubscribeTokens } from './unsubscribe-tokens.js';

const KEYS = `test:${randomBytes(32).toString('base64')}`;
const ONE_CLICK = 'List-Unsubscribe=One-Click';

let testApi: TestApi;
let tokens: UnsubscribeTokens;

beforeAll(async () => {
  testApi = await startTestApi({ env: { GHOST_SECRET_KEYS: KEYS } });
  tokens = new UnsubscribeTokens({ keyRing: keyRingOf(KEYS) });
});
afterAll(() => testApi.stop());

let people = 0;

/** A thread and two people who take part in it; the first one's link. */
async function subscribed() {
  people += 2;
  const [ann, ben] = [
    await testApi.addPerson(`ann-${people}`),
    await testApi.addPerson(`ben-${people}`),
  ];
  const made = await ann.ask('POST', '/user/repos', { name: 'place', private: false });
  expect(made.status).toBe(201);
  const threads = `/repos/${ann.login}/place/threads`;
  const opened = await ann.ask('POST', threads, { title: 'A thread', body: '' });
  await ben.ask('POST', `${threads}/1/comments`, { body: 'Me too.' });
  const threadId = Number(opened.body.id);
  const token = tokens.sign({ threadId, accountId: ben.id });
  return { ann, ben, threadId, token };
}

const call = (token: string, init: RequestInit = {}) =>
  fetch(`${testApi.url}/api/unsubscribe/${token}`, init);

async function mutedOf(threadId: number): Promise<Record<number, boolean>> {
  const { rows } = await testApi.pool.query<{ id: string; muted: boolean }>(
    'SELECT account_id AS id, muted FROM thread_subscription WHERE thread_id = $1',
    [threadId],
  );
  return Object.fromEntries(rows.map((row) => [Number(row.id), row.muted]));
}

describe('looking at the link, as a mail scanner does', () => {
  test('shows a page with a button and changes nothing', async () => {
    const { ann, ben, threadId, token } = await subscribed();
    const response = await call(token);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const page = await response.text();
    expect(page).toContain('<form method="post">');
    expect(page).not.toMatch(/<script|<img|href=|src=/u);
    const head = await call(token, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(await mutedOf(threadId)).toEqual({ [ann.id]: false, [ben.id]: false });
  });

  test('lets nothing run, load, frame or keep the page', async () => {
    const { token } = await subscribed();
    const { headers } = await call(token);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-security-policy':
        "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
  });
});

describe('one click, without signing in', () => {
  const form = new FormData();
  form.set('List-Unsubscribe', 'One-Click');

  test.each([
    ['a form', { body: new URLSearchParams(ONE_CLICK) }],
    ['a multipart form', { body: form }],
    ['nothing', {}],
  ])('mutes the thread for that account alone, with %s as its body', async (_what, init) => {
    const { ann, ben, threadId, token } = await subscribed();
    const response = await call(token, { method: 'POST', ...init });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('no more mails of this thread');
    expect(await mutedOf(threadId)).toEqual({ [ann.id]: false, [ben.id]: true });
  });

  test('again changes nothing', async () => {
    const { ben, threadId, token } = await subscribed();
    for (let n = 0; n < 2; n += 1) {
      const response = await call(token, { method: 'POST', body: new URLSearchParams(ONE_CLICK) });
      expect(response.status).toBe(200);
    }
    expect((await mutedOf(threadId))[ben.id]).toBe(true);
  });

  test('works for a person who only watches the repository', async () => {
    const { threadId } = await subscribed();
    const watcher = await testApi.addPerson(`watcher-${people}`);
    const token = tokens.sign({ threadId, accountId: watcher.id });
    expect((await call(token, { method: 'POST' })).status).toBe(200);
    expect((await mutedOf(threadId))[watcher.id]).toBe(true);
  });

  test('can end the mails of the whole repository too, for that person alone', async () => {
    const { ann, ben, threadId, token } = await subscribed();
    const page = await (await call(token)).text();
    const [, action = ''] = /action="([^"]+)"/u.exec(page) ?? [];
    expect(action).toBe(`${token}/repository`);
    const ignoring = async () => {
      const { rows } = await testApi.pool.query<{ id: string }>(
        `SELECT w.account_id AS id FROM watch w JOIN thread t ON t.repository_id = w.repository_id
         WHERE t.id = $1 AND w.ignored`,
        [threadId],
      );
      return rows.map(({ id }) => Number(id));
    };
    for (const method of ['GET', 'HEAD']) expect((await call(action, { method })).status).toBe(405);
    expect(await ignoring()).toEqual([]);
    for (let n = 0; n < 2; n += 1) {
      const done = await call(action, { method: 'POST', body: new URLSearchParams('') });
      expect(done.status).toBe(200);
      expect(await done.text()).toContain('no more mails of this repository');
    }
    expect(await ignoring()).toEqual([ben.id]);
    expect(await mutedOf(threadId)).toEqual({ [ann.id]: false, [ben.id]: false });
    expect((await call('forged/repository', { method: 'POST' })).status).toBe(404);
  });
});

describe('a link that is not ours', () => {
  test('is a 404 with a page, for every method', async () => {
    const { ann, ben, threadId, token } = await subscribed();
    const forged = token.replace(/.$/u, (last) => (last === 'A' ? 'Q' : 'A'));
    for (const method of ['GET', 'HEAD', 'POST']) {
      for (const bad of [forged, 'x', '%00']) {
        expect((await call(bad, { method })).status, `${method} ${bad}`).toBe(404);
      }
    }
    expect(await (await call(forged)).text()).toContain('This link does not work');
    expect(await mutedOf(threadId)).toEqual({ [ann.id]: false, [ben.id]: false });
  });

  test('is one whose thread is gone', async () => {
    const { threadId, token } = await subscribed();
    await testApi.pool.query('DELETE FROM comment WHERE thread_id = $1', [threadId]);
    await testApi.pool.query('DELETE FROM thread WHERE id = $1', [threadId]);
    expect((await call(token, { method: 'POST' })).status).toBe(404);
  });
});

describe('elsewhere in the API', () => {
  test('a form is refused as before', async () => {
    const { ann } = await subscribed();
    const response = await fetch(`${testApi.url}/api/user/repos`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ann.token}` },
      body: new URLSearchParams({ name: 'x' }),
    });
    expect(response.status).toBe(415);
  });
});
