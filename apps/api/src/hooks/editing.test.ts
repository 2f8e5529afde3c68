import { randomBytes } from 'node:crypto';

import { standardForm } from '@ghost/signing';
import { decrypt, hookSecretContext, parseKeyRing } from '@ghost/vault';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import {
  type Json,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../test/support/test-api.js';

const HOOKS = '/repos/ada/engine/hooks';
const URL_OF_HOOK = 'https://receiver.example/hook?token=T';
const SECRET = 'the secret of the start';
const KEYS = `test:${randomBytes(32).toString('base64')}`;
const MASK = '********';
const ROUNDS = 3;

let api: TestApi;
let ada: Person;
let hook: Json;

beforeAll(async () => {
  api = await startTestApi({ env: { GHOST_SECRET_KEYS: KEYS } });
  ada = await api.addPerson('ada');
  await ada.ask('POST', '/user/repos', { name: 'engine' });
});
afterAll(() => api.stop());

beforeEach(async () => {
  const made = await ada.ask('POST', HOOKS, {
    events: ['thread.opened'],
    config: { url: URL_OF_HOOK, secret: SECRET, github_signature: true },
  });
  expect(made.status).toBe(201);
  // Shown by the answer that set it alone.
  const { standard_secret: standard, ...config } = made.body.config;
  expect(standard).toBe(standardForm(SECRET));
  hook = { ...made.body, config };
  return async () => {
    await ada.ask('DELETE', `${HOOKS}/${hook.id}`);
  };
});

const edit = (body: unknown) => ada.ask('PATCH', `${HOOKS}/${hook.id}`, body);
const editConfig = (body: unknown) => ada.ask('PATCH', `${HOOKS}/${hook.id}/config`, body);
const shown = () => ada.ask('GET', `${HOOKS}/${hook.id}`);

async function secrets(): Promise<string[]> {
  const parsed = parseKeyRing(KEYS);
  if (!parsed.ok) throw new Error('The keys of the test are no key ring');
  const { rows } = await api.pool.query<{ ciphertext: string }>(
    'SELECT ciphertext FROM hook_secret WHERE hook_id = $1',
    [hook.id],
  );
  return rows.map(({ ciphertext }) => decrypt(parsed.ring, ciphertext, hookSecretContext(hook.id)));
}

/** The row of the hook with its secrets, and which transaction wrote it. */
async function stored() {
  const { rows } = await api.pool.query(
    `SELECT h.*, h.xmin, (SELECT json_agg(s ORDER BY s.id) FROM hook_secret s WHERE s.hook_id = h.id) AS secrets
     FROM hook h WHERE h.id = $1`,
    [hook.id],
  );
  return rows[0];
}

/** With a header, which `ask` does not take. */
async function send(method: string, path: string, headers: Record<string, string>, body?: object) {
  const response = await fetch(`${api.url}/api${path}`, {
    method,
    headers: {
      authorization: `Bearer ${ada.token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const json: Json = text === '' ? undefined : JSON.parse(text);
  return { status: response.status, headers: response.headers, body: json };
}

async function attempt(
  outcome: string,
  more: { status?: number; reason?: string; message?: string },
) {
  await api.pool.query(
    `INSERT INTO delivery_attempt (job_id, lease_no, hook_id, started_at, outcome, status, reason, message)
     VALUES (gen_random_uuid(), 1, $1, now(), $2, $3, $4, $5)`,
    [hook.id, outcome, more.status ?? null, more.reason ?? null, more.message ?? null],
  );
}

describe('editing a hook', () => {
  test('only what is named changes', async () => {
    const { status, body } = await edit({ active: false });
    expect(status).toBe(200);
    expect(body).toEqual({ ...hook, active: false, updated_at: expect.any(String) });
    expect(Date.parse(body.updated_at)).toBeGreaterThan(Date.parse(hook.updated_at));
    expect((await shown()).body).toEqual(body);
  });

  test('events are replaced, added and taken away', async () => {
    const edited = await edit({ events: ['thread.closed', 'thread.opened'] });
    expect(edited.body.events).toEqual(['thread.closed', 'thread.opened']);
    const { body } = await edit({
      add_events: ['comment.created'],
      remove_events: ['thread.opened'],
    });
    expect(body.events).toEqual(['thread.closed', 'comment.created']);
  });

  test('a config that is given replaces all of it but the secret', async () => {
    const { body } = await edit({
      config: { url: 'https://other.example/', content_type: 'json' },
    });
    expect(body.config).toEqual({
      url: 'https://other.example/',
      content_type: 'json',
      insecure_ssl: '0',
      secret: MASK,
      github_signature: false,
      rate_limit: null,
      headers: {},
    });
    expect(await secrets()).toEqual([SECRET]);
  });

  test('a secret that is given replaces the one before, and is shown to nobody', async () => {
    const { body } = await edit({ config: { url: URL_OF_HOOK, secret: 'another secret' } });
    expect(body.config).toMatchObject({
      secret: MASK,
      standard_secret: standardForm('another secret'),
    });
    expect((await shown()).body.config).not.toHaveProperty('standard_secret');
    expect(await secrets()).toEqual(['another secret']);
  });

  test('an edit that changes nothing writes nothing', async () => {
    const before = await stored();
    const same = { url: URL_OF_HOOK, github_signature: true };
    for (const body of [
      {},
      { active: true },
      { events: ['thread.opened'], add_events: ['thread.opened'], remove_events: ['member.added'] },
      { config: same },
      { config: { ...same, url: `${URL_OF_HOOK}#fragment`, secret: null } },
    ]) {
      expect((await edit(body)).body).toEqual(hook);
    }
    expect((await editConfig({})).status).toBe(200);
    expect((await editConfig({ url: URL_OF_HOOK })).status).toBe(200);
    expect(await stored()).toEqual(before);
  });

  test("verification of certificates is switched as GitHub's API does", async () => {
    expect((await editConfig({ insecure_ssl: '1' })).body.insecure_ssl).toBe('1');
    expect(await stored()).toMatchObject({ insecure_ssl: true });
    expect((await editConfig({ github_signature: false })).body.insecure_ssl).toBe('1');
    expect((await editConfig({ insecure_ssl: 0 })).body.insecure_ssl).toBe('0');
    await editConfig({ insecure_ssl: 1 });
    // A config that is given to the hook replaces all of it.
    const { body } = await edit({ config: { url: URL_OF_HOOK } });
    expect(body.config.insecure_ssl).toBe('0');
  });

  test('setting the same secret again is a change', async () => {
    const before = await stored();
    const { body } = await editConfig({ secret: SECRET });
    expect(body).toEqual({ ...hook.config, standard_secret: standardForm(SECRET) });
    expect(await stored()).not.toEqual(before);
    const { updated_at } = (await shown()).body;
    expect(Date.parse(updated_at)).toBeGreaterThan(Date.parse(hook.updated_at));
  });

  test.each(['********', '<secret>', 'whsec_********', ''])(
    'the mask %j is no secret, and nothing is saved',
    async (secret) => {
      const config = { url: 'https://other.example/', secret };
      const ofHook = await edit({ active: false, config });
      expect(ofHook).toMatchObject({ status: 422, body: { errors: [{ field: 'config.secret' }] } });
      const ofConfig = await editConfig(config);
      expect(ofConfig).toMatchObject({ status: 422, body: { errors: [{ field: 'secret' }] } });
      expect((await shown()).body).toEqual(hook);
      expect(await secrets()).toEqual([SECRET]);
    },
  );

  test('the config alone is read and edited: what is left out stays', async () => {
    expect((await ada.ask('GET', `${HOOKS}/${hook.id}/config`)).body).toEqual(hook.config);
    const { status, body } = await editConfig({ url: 'https://other.example/' });
    expect(status).toBe(200);
    expect(body).toEqual({ ...hook.config, url: 'https://other.example/' });
    expect((await shown()).body).toMatchObject({ config: body, events: hook.events });
    expect(await secrets()).toEqual([SECRET]);
    await editConfig({ secret: 'another secret' });
    expect(await secrets()).toEqual(['another secret']);
  });

  test.each([
    ['a config without URL', { config: { secret: 'x' } }, 'config.url', 'missing_field'],
    [
      'an address inside',
      { config: { url: 'http://127.0.0.1/' } },
      'config.url',
      'url_not_allowed',
    ],
    ['no event', { events: [] }, 'events', 'invalid'],
    ['an unknown event', { add_events: ['push'] }, 'add_events.0', 'invalid'],
    ['too many', { remove_events: Array(101).fill('x') }, 'remove_events', 'invalid'],
    ['no event that is left', { remove_events: ['thread.opened'] }, 'remove_events', 'no_events'],
    [
      'a certificate that is half verified',
      { config: { url: URL_OF_HOOK, insecure_ssl: '2' } },
      'config.insecure_ssl',
      'invalid',
    ],
    ['a field of the wrong type', { active: 'yes' }, 'active', 'invalid'],
    ['an unknown field', { colour: 'red' }, 'colour', 'unknown_field'],
  ])('%s is a 422 that names the field, and nothing is saved', async (_name, body, field, code) => {
    const answer = await edit(body);
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toMatchObject([{ field, code, message: expect.any(String) }]);
    expect((await shown()).body).toEqual(hook);
  });

  test('a fault of the config edited alone is named as it was sent', async () => {
    const answer = await ada.ask('PATCH', `${HOOKS}/${hook.id}/config`, {
      url: 'http://127.0.0.1/',
      secret: MASK,
    });
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toMatchObject([{ field: 'url' }, { field: 'secret' }]);
  });

  test('a hook of another repository cannot be edited through this one', async () => {
    await ada.ask('POST', '/user/repos', { name: 'other' });
    for (const path of ['', '/config']) {
      const answer = await ada.ask('PATCH', `/repos/ada/other/hooks/${hook.id}${path}`, {});
      expect(answer.status).toBe(404);
    }
  });
});

describe('two who edit at once (If-Match)', () => {
  const path = () => `${HOOKS}/${hook.id}`;

  test('the one who read first and saves last gets a conflict, and changes nothing', async () => {
    const first = await send('GET', path(), {});
    const second = await send('GET', path(), {});
    const ofFirst = { 'if-match': first.headers.get('etag') ?? '' };
    const ofSecond = { 'if-match': second.headers.get('etag') ?? '' };
    const saved = await send('PATCH', path(), ofFirst, { config: { url: 'https://one.example/' } });
    expect(saved.status).toBe(200);
    const stale = await send('PATCH', path(), ofSecond, {
      config: { url: 'https://two.example/', secret: 'another secret' },
    });
    expect(stale).toMatchObject({ status: 412, body: { code: 'precondition_failed' } });
    expect((await send('DELETE', path(), ofSecond)).status).toBe(412);
    expect((await shown()).body.config.url).toBe('https://one.example/');
    expect(await secrets()).toEqual([SECRET]);
    // What an edit answers can be edited further.
    const again = { 'if-match': saved.headers.get('etag') ?? '' };
    expect((await send('PATCH', path(), again, { active: false })).status).toBe(200);
  });

  test('of many at once with the same tag, one is saved', async () => {
    const tag = (await send('GET', path(), {})).headers.get('etag') ?? '';
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        send('PATCH', path(), { 'if-match': tag }, { config: { url: `https://n${n}.example/` } }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(7);
  });

  test('a delivery in between is no change by somebody else, but a new answer', async () => {
    const before = (await send('GET', path(), {})).headers.get('etag') ?? '';
    expect((await send('GET', path(), { 'if-none-match': before })).status).toBe(304);
    await attempt('delivered', { status: 200 });
    expect((await send('GET', path(), { 'if-none-match': before })).status).toBe(200);
    const edited = await send('PATCH', path(), { 'if-match': before }, { active: false });
    expect(edited.status).toBe(200);
    expect(edited.body).toMatchObject({ active: false, last_response: { code: 200 } });
  });

  test.each([
    ['the hook', '', (secret: string) => ({ config: { url: URL_OF_HOOK, secret } })],
    ['its config', '/config', (secret: string) => ({ secret })],
  ])('a new secret changes the tag of %s, though it shows as its mask', async (_name, end, to) => {
    const at = `${path()}${end}`;
    const read = await send('GET', at, {});
    const tag = { 'if-match': read.headers.get('etag') ?? '' };
    expect((await send('PATCH', at, tag, to('a new one'))).status).toBe(200);
    expect((await send('PATCH', at, tag, to('another'))).status).toBe(412);
    expect(await secrets()).toEqual(['a new one']);
  });

  test('every setting of a secret has its own tag, however fast they follow', async () => {
    for (const end of ['', '/config']) {
      const tags = new Set<string | null>();
      for (let round = 0; round < ROUNDS; round += 1) {
        // The clock stands: what is told apart by time alone is the same.
        await api.pool.query(`UPDATE hook SET updated_at = created_at WHERE id = $1`, [hook.id]);
        const config = { url: URL_OF_HOOK, github_signature: true, secret: SECRET };
        await edit({ config });
        await api.pool.query(`UPDATE hook SET updated_at = created_at WHERE id = $1`, [hook.id]);
        tags.add((await send('GET', `${path()}${end}`, {})).headers.get('etag'));
      }
      expect(tags.size).toBe(ROUNDS);
    }
  });

  test('an edit that changes nothing keeps the tags', async () => {
    const tags = async () => [
      (await send('GET', path(), {})).headers.get('etag'),
      (await send('GET', `${path()}/config`, {})).headers.get('etag'),
    ];
    const before = await tags();
    const kept = await edit({ active: true });
    expect(kept.headers.get('etag')).toBe(before[0]);
    expect((await editConfig({ url: URL_OF_HOOK })).headers.get('etag')).toBe(before[1]);
    expect(await tags()).toEqual(before);
  });

  test('a secret that ended by itself changes the tag', async () => {
    const before = (await send('GET', path(), {})).headers.get('etag') ?? '';
    await api.pool.query(
      `UPDATE hook_secret SET created_at = now() - interval '2 h', expires_at = now() - interval '1 h'
       WHERE hook_id = $1`,
      [hook.id],
    );
    expect((await send('GET', path(), { 'if-none-match': before })).status).toBe(200);
  });

  test('a header that is no tag is a 400', async () => {
    const { status, body } = await send('PATCH', path(), { 'if-match': 'abc' }, {});
    expect(status).toBe(400);
    expect(body.code).toBe('bad_if_match');
  });
});

describe('the last response of a hook', () => {
  const last = async () => (await shown()).body.last_response;

  test('is that of its newest attempt', async () => {
    expect(await last()).toEqual({ code: null, status: 'unused', message: null });
    await attempt('retry', { status: 500, reason: 'http_5xx', message: 'It answered 500.' });
    expect(await last()).toEqual({ code: 500, status: 'http_5xx', message: 'It answered 500.' });
    await attempt('retry', { reason: 'timeout', message: 'No answer.' });
    expect(await last()).toEqual({ code: null, status: 'timeout', message: 'No answer.' });
    await attempt('delivered', { status: 204 });
    expect(await last()).toEqual({ code: 204, status: 'active', message: 'OK' });
    const { body } = await ada.ask('GET', HOOKS);
    expect(body.find(({ id }: Json) => id === hook.id).last_response.code).toBe(204);
  });
});
