import { GENERIC_REFUSAL } from '@ghost/policy';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { nextPage } from '../../../../test/support/next-page.js';
import {
  type Answer,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../test/support/test-api.js';
import { countBlocked } from '../../../../test/support/until-blocked.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

const HOOKS = '/repos/ada/engine/hooks';
const URL_OF_HOOK = 'https://receiver.example/hook?token=T';

let api: TestApi;
let ada: Person;
let bob: Person;
const lines: string[] = [];

beforeAll(async () => {
  api = await startTestApi({
    env: { GHOST_ALLOW_CIDRS: '10.1.0.0/16' },
    logger: pino({ level: 'info' }, { write: (line: string) => lines.push(line) }),
  });
  ada = await api.addPerson('ada');
  bob = await api.addPerson('bob');
  await ada.ask('POST', '/user/repos', { name: 'engine', private: false });
  await ada.ask('POST', '/user/repos', { name: 'secret', private: true });
});
afterAll(() => api.stop());

const hookWith = (config: object, rest: object = {}) => ({
  config: { url: URL_OF_HOOK, content_type: 'json', ...config },
  ...rest,
});

describe('making hooks', () => {
  test('a hook is answered in the usual shape, and pinged', async () => {
    const { status, body } = await ada.ask('POST', HOOKS, {
      name: 'web',
      active: true,
      events: ['comment.created', 'thread.opened', 'comment.created'],
      config: {
        url: `${URL_OF_HOOK}#fragment`,
        content_type: 'json',
        secret: 'my own secret',
        insecure_ssl: '0',
        digest: 'sha256',
      },
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      type: 'Repository',
      name: 'web',
      active: true,
      events: ['comment.created', 'thread.opened'],
      config: { url: URL_OF_HOOK, content_type: 'json', insecure_ssl: '0', secret: '********' },
      url: `https://ghost.example/api${HOOKS}/${body.id}`,
      test_url: `https://ghost.example/api${HOOKS}/${body.id}/tests`,
      ping_url: `https://ghost.example/api${HOOKS}/${body.id}/pings`,
      deliveries_url: `https://ghost.example/api${HOOKS}/${body.id}/deliveries`,
      last_response: { code: null, status: 'unused', message: null },
    });
    expect(Number.isInteger(body.id)).toBe(true);
    expect((await api.eventsOf('ping')).at(-1)).toMatchObject({
      hook_id: body.id,
      hook: { id: body.id, url: URL_OF_HOOK, active: true },
      repository: { full_name: 'ada/engine' },
      sender: { login: 'ada' },
      zen: expect.any(String),
    });
  });

  test('what is left out has its default, and the secret that is made is shown once', async () => {
    const { body } = await ada.ask('POST', HOOKS, { config: { url: URL_OF_HOOK } });
    expect(body).toMatchObject({ active: true, events: ['*'] });
    expect(body.config.secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/u);
    const shown = await ada.ask('GET', `${HOOKS}/${body.id}`);
    expect(shown.body).toEqual({ ...body, config: { ...body.config, secret: '********' } });
    const listed = await ada.ask('GET', HOOKS);
    expect(listed.body).toContainEqual(shown.body);
    expect(JSON.stringify(listed.body)).not.toContain(body.config.secret);
  });

  test('a secret is stored sealed, and stands in no event', async () => {
    const secret = 'a-secret-that-nobody-reads';
    const { body } = await ada.ask('POST', HOOKS, hookWith({ secret }));
    const { rows } = await api.pool.query(
      `SELECT s.ciphertext, (SELECT string_agg(payload::text, '') FROM outbox_event) AS events
       FROM hook_secret s WHERE hook_id = $1`,
      [body.id],
    );
    expect(rows).toHaveLength(1);
    expect(rows[0].ciphertext).toMatch(/^v1\.test\./u);
    expect(rows[0].events).not.toContain(secret);
  });

  test('an address that the operator allows is taken', async () => {
    const { status } = await ada.ask('POST', HOOKS, hookWith({ url: 'http://10.1.2.3:8080/in' }));
    expect(status).toBe(201);
  });

  test.each([
    ['loopback', 'http://127.0.0.1/'],
    ['the metadata service', 'http://169.254.169.254/latest'],
    ['a private address', 'http://10.2.0.1/'],
    ['loopback as a number', 'http://2130706433/'],
    ['mapped IPv6', 'http://[::ffff:127.0.0.1]/'],
    ['localhost', 'http://localhost:8080/'],
    ['an internal name', 'https://ci.internal/hook'],
  ])('%s is refused with one generic sentence', async (_name, url) => {
    const { status, body } = await ada.ask('POST', HOOKS, hookWith({ url }));
    expect(status).toBe(422);
    expect(body.errors).toEqual([
      { field: 'config.url', code: 'url_not_allowed', message: GENERIC_REFUSAL },
    ]);
  });

  test('the log says who was refused, where and why, and nothing of the URL', async () => {
    lines.length = 0;
    const { body: repository } = await ada.ask('GET', '/repos/ada/engine');
    await ada.ask('POST', HOOKS, hookWith({ url: 'http://10.66.0.1/path-of-mine?token=T' }));
    const { body: hook } = await ada.ask('POST', HOOKS, hookWith({}));
    const config = { url: 'http://10.66.0.1/path-of-mine?token=T' };
    await ada.ask('PATCH', `${HOOKS}/${hook.id}`, { config });
    const refused = lines
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event === 'hook.refused');
    const why = { accountId: ada.id, repositoryId: repository.id, reason: 'private' };
    expect(refused).toMatchObject([
      { ...why, hookId: null },
      { ...why, hookId: hook.id },
    ]);
    expect(lines.join('')).not.toMatch(/10\.66|path-of-mine|token=/u);
  });

  test.each([
    ['no config', {}, 'config', 'missing_field'],
    ['no URL', { config: {} }, 'config.url', 'missing_field'],
    ['no URL but a text', hookWith({ url: 'receiver' }), 'config.url', 'invalid'],
    ['another scheme', hookWith({ url: 'ftp://receiver.example/' }), 'config.url', 'invalid'],
    [
      'credentials in the URL',
      hookWith({ url: 'https://u:p@receiver.example/' }),
      'config.url',
      'invalid',
    ],
    ['a form', hookWith({ content_type: 'form' }), 'config.content_type', 'invalid'],
    [
      'a certificate that is half verified',
      hookWith({ insecure_ssl: '2' }),
      'config.insecure_ssl',
      'invalid',
    ],
    ['the mask as a secret', hookWith({ secret: '********' }), 'config.secret', 'secret_mask'],
    ['an empty secret', hookWith({ secret: '' }), 'config.secret', 'secret_empty'],
    [
      'a secret that is no base64',
      hookWith({ secret: 'whsec_%%%' }),
      'config.secret',
      'secret_not_base64',
    ],
    ['another name', hookWith({}, { name: 'email' }), 'name', 'invalid'],
    ['no event', hookWith({}, { events: [] }), 'events', 'invalid'],
    ['an unknown event', hookWith({}, { events: ['push'] }), 'events.0', 'invalid'],
    [
      'more events than there are',
      hookWith({}, { events: Array.from({ length: 101 }, () => 'x') }),
      'events',
      'invalid',
    ],
    ['an unknown field', hookWith({}, { colour: 'red' }), 'colour', 'unknown_field'],
    ['an unknown option', hookWith({ colour: 'red' }), 'config.colour', 'unknown_field'],
  ])('%s is a 422 that names the field', async (_name, wanted, field, code) => {
    const { status, body } = await ada.ask('POST', HOOKS, wanted);
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ field, code, message: expect.any(String) }]);
    expect(JSON.stringify(body)).not.toContain('whsec_%%%');
  });

  test('the answer to an unknown event lists those that exist', async () => {
    const { body } = await ada.ask('POST', HOOKS, hookWith({}, { events: ['push', 'ping'] }));
    expect(body.errors).toHaveLength(2);
    expect(body.errors[0].message).toContain('*, thread.opened');
  });

  test('a faulty URL and a faulty secret are told together', async () => {
    const { body } = await ada.ask('POST', HOOKS, hookWith({ url: '', secret: '<secret>' }));
    expect(body.errors).toMatchObject([{ field: 'config.url' }, { field: 'config.secret' }]);
  });

  test('a repository has at most 20 hooks, also when they come at once', async () => {
    await ada.ask('POST', '/user/repos', { name: 'full' });
    const made = await Promise.all(
      Array.from({ length: 24 }, () => ada.ask('POST', '/repos/ada/full/hooks', hookWith({}))),
    );
    expect(made.filter(({ status }) => status === 201)).toHaveLength(20);
    expect(made.find(({ status }) => status === 422)?.body.errors).toMatchObject([
      { field: 'hooks', code: 'too_many' },
    ]);
    const { body } = await ada.ask('GET', '/repos/ada/full/hooks');
    expect(body).toHaveLength(20);
  });
});

test('a hook for a repository that is deleted meanwhile is a 404', async () => {
  const { body: doomed } = await ada.ask('POST', '/user/repos', { name: 'doomed' });
  const client = await api.pool.connect();
  try {
    await client.query('BEGIN');
    await client.query('DELETE FROM repository WHERE id = $1', [doomed.id]);
    const asked = ada.ask('POST', '/repos/ada/doomed/hooks', hookWith({}));
    await waitUntil(() => countBlocked(api.pool), { what: 'the API to wait for the deletion' });
    await client.query('COMMIT');
    expect((await asked).status).toBe(404);
  } finally {
    client.release();
  }
});

describe('listing hooks', () => {
  test('pages follow by the Link header, each hook once', async () => {
    await ada.ask('POST', '/user/repos', { name: 'paged' });
    const path = '/repos/ada/paged/hooks';
    const made: number[] = [];
    for (let n = 0; n < 5; n += 1) made.push((await ada.ask('POST', path, hookWith({}))).body.id);
    const seen: number[] = [];
    let next: string | undefined = `${path}?per_page=2`;
    while (next !== undefined) {
      const answer: Answer = await ada.ask('GET', next);
      expect(answer.status).toBe(200);
      seen.push(...answer.body.map(({ id }: { id: number }) => id));
      next = nextPage(answer);
    }
    expect(seen).toEqual(made);
  });

  test.each([
    ['?per_page=0', 'per_page', 'invalid'],
    ['?page=2', 'page', 'invalid'],
    ['?after=x', 'after', 'bad_cursor'],
    ['?colour=red', 'colour', 'unknown_field'],
  ])('%s is a 422 that names the field', async (query, field, code) => {
    const { status, body } = await ada.ask('GET', `${HOOKS}${query}`);
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ field, code }]);
  });
});

describe('pinging', () => {
  test.each(['pings', 'tests'])('POST …/%s pings this hook alone', async (what) => {
    const { body: other } = await ada.ask('POST', HOOKS, hookWith({}));
    const { body: hook } = await ada.ask('POST', HOOKS, hookWith({}));
    const before = (await api.eventsOf('ping')).length;
    const answer = await ada.ask('POST', `${HOOKS}/${hook.id}/${what}`);
    expect(answer).toMatchObject({ status: 204, body: undefined });
    const pings = (await api.eventsOf('ping')).slice(before);
    expect(pings).toMatchObject([{ hook_id: hook.id, hook: { id: hook.id } }]);
    await waitUntil(async () => (await jobsOf(hook.id)).length === 2, { what: 'both pings' });
    expect(await jobsOf(other.id)).toHaveLength(1);
  });

  test('no hook, no ping', async () => {
    expect((await ada.ask('POST', `${HOOKS}/999999/pings`)).status).toBe(404);
  });
});

async function jobsOf(hookId: number) {
  const { rows } = await api.pool.query(
    'SELECT status, last_error FROM delivery_job WHERE hook_id = $1',
    [hookId],
  );
  return rows;
}

describe('deleting hooks', () => {
  test('a deleted hook is gone, and what waited for it is cancelled', async () => {
    const { body: hook } = await ada.ask('POST', HOOKS, hookWith({}));
    await waitUntil(async () => (await jobsOf(hook.id)).length > 0, { what: 'the ping' });
    const answer = await ada.ask('DELETE', `${HOOKS}/${hook.id}`);
    expect(answer).toMatchObject({ status: 204, body: undefined });
    const isOver = async () => (await jobsOf(hook.id))[0]?.status !== 'pending';
    await waitUntil(isOver, { what: 'the ping to be cancelled' });
    expect(await jobsOf(hook.id)).toEqual([{ status: 'cancelled', last_error: 'hook_deleted' }]);
    for (const method of ['GET', 'DELETE']) {
      expect((await ada.ask(method, `${HOOKS}/${hook.id}`)).status).toBe(404);
    }
    const { rows } = await api.pool.query('SELECT 1 FROM hook_secret WHERE hook_id = $1', [
      hook.id,
    ]);
    expect(rows).toEqual([]);
  });

  test('a hook of another repository cannot be reached through this one', async () => {
    await bob.ask('POST', '/user/repos', { name: 'mine' });
    const { body: hook } = await ada.ask('POST', HOOKS, hookWith({}));
    for (const method of ['GET', 'DELETE']) {
      expect((await bob.ask(method, `/repos/bob/mine/hooks/${hook.id}`)).status).toBe(404);
    }
    expect((await ada.ask('GET', `${HOOKS}/${hook.id}`)).status).toBe(200);
  });
});

test.each([
  ['POST', ''],
  ['GET', ''],
  ['GET', '/1'],
  ['PATCH', '/1'],
  ['DELETE', '/1'],
  ['GET', '/1/config'],
  ['PATCH', '/1/config'],
  ['POST', '/1/pings'],
  ['POST', '/1/tests'],
])('%s hooks%s is for admins; a private repository looks like none', async (method, path) => {
  const wanted = method === 'POST' && path === '' ? hookWith({}) : undefined;
  const readable = await bob.ask(method, `/repos/ada/engine/hooks${path}`, wanted);
  expect(readable).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  const hidden = await bob.ask(method, `/repos/ada/secret/hooks${path}`, wanted);
  const absent = await bob.ask(method, `/repos/ada/nothing/hooks${path}`, wanted);
  expect(hidden).toMatchObject({ status: 404, body: { message: 'Not Found', code: 'not_found' } });
  expect(absent).toMatchObject({ status: 404, body: hidden.body });
});
