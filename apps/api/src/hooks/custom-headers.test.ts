import { randomBytes } from 'node:crypto';

import { listAudit } from '@ghost/operations';
import { openHookHeaders, parseKeyRing, sealHookHeaders } from '@ghost/vault';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import {
  type Json,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../test/support/test-api.js';

const HOOKS = '/repos/ada/engine/hooks';
const URL_OF_HOOK = 'https://receiver.example/hook';
const MASK = '********';
const VALUE = 'Bearer of-nobody-else';
const KEYS = `test:${randomBytes(32).toString('base64')}`;

let api: TestApi;
let ada: Person;
const lines: string[] = [];

beforeAll(async () => {
  api = await startTestApi({
    env: { GHOST_SECRET_KEYS: KEYS },
    logger: pino({ level: 'trace' }, { write: (line: string) => lines.push(line) }),
  });
  ada = await api.addPerson('ada');
  await ada.ask('POST', '/user/repos', { name: 'engine' });
});
afterAll(() => api.stop());

function ring(keys = KEYS) {
  const parsed = parseKeyRing(keys);
  if (!parsed.ok) throw new Error('The keys of the test are no key ring');
  return parsed.ring;
}

async function addHook(headers: object): Promise<Json> {
  const { status, body } = await ada.ask('POST', HOOKS, { config: { url: URL_OF_HOOK, headers } });
  expect(status).toBe(201);
  return body;
}

const edit = (id: number, headers: object) =>
  ada.ask('PATCH', `${HOOKS}/${id}/config`, { headers });

async function sealed(id: number): Promise<string> {
  const { rows } = await api.pool.query('SELECT headers_ciphertext FROM hook WHERE id = $1', [id]);
  return rows[0].headers_ciphertext;
}
const opened = async (id: number) => openHookHeaders(ring(), id, await sealed(id));

describe('custom headers of a hook', () => {
  test('are sealed at rest, and shown by their names alone, wherever', async () => {
    const hook = await addHook({ Authorization: VALUE, 'x-team': 'core' });
    expect(hook.config.headers).toEqual({ authorization: MASK, 'x-team': MASK });
    expect(await opened(hook.id)).toEqual([
      ['authorization', VALUE],
      ['x-team', 'core'],
    ]);
    const path = `${HOOKS}/${hook.id}`;
    const seen = [
      (await ada.ask('GET', path)).body,
      (await ada.ask('GET', HOOKS)).body,
      (await ada.ask('GET', `${path}/config`)).body,
      (await ada.ask('PATCH', path, { active: false })).body,
      (await edit(hook.id, { 'x-other': '1' })).body,
      await listAudit(api.pool, { repository: 'ada/engine' }),
      (await api.pool.query('SELECT * FROM outbox_event')).rows,
      (await api.pool.query('SELECT * FROM hook')).rows,
      lines,
    ];
    const hidden = [VALUE, Buffer.from(VALUE).toString('base64url').slice(0, 12)];
    for (const text of hidden) expect(JSON.stringify(seen)).not.toContain(text);
    expect(seen[2]).toMatchObject({ headers: { authorization: MASK, 'x-team': MASK } });
  });

  test('a value sets, null removes, what is not named stays', async () => {
    const { id } = await addHook({ authorization: VALUE, 'x-team': 'core' });
    const { body } = await edit(id, { 'X-Team': 'edge', 'x-new': '', 'x-absent': null });
    expect(body.headers).toEqual({ authorization: MASK, 'x-team': MASK, 'x-new': MASK });
    expect(await opened(id)).toEqual([
      ['authorization', VALUE],
      ['x-team', 'edge'],
      ['x-new', ''],
    ]);
    // A config that is given to the hook replaces all of it but the secret and these.
    const path = `${HOOKS}/${id}`;
    expect((await ada.ask('PATCH', path, { config: { url: URL_OF_HOOK } })).body.config).toEqual({
      ...(await ada.ask('GET', `${path}/config`)).body,
      headers: body.headers,
    });
    const none = { authorization: null, 'x-team': null, 'x-new': null };
    expect((await edit(id, none)).body.headers).toEqual({});
    expect(await sealed(id)).toBeNull();
  });

  test('do not go along to another server: who may edit a hook could read them at one of their own', async () => {
    const { id } = await addHook({ authorization: VALUE, 'x-team': 'core' });
    const path = `${HOOKS}/${id}`;
    const elsewhere = 'https://elsewhere.example/';
    const refused = [
      await ada.ask('PATCH', path, { config: { url: elsewhere } }),
      await ada.ask('PATCH', `${path}/config`, { url: elsewhere }),
      await ada.ask('PATCH', `${path}/config`, { url: elsewhere, headers: { 'x-team': null } }),
      await ada.ask('PATCH', `${path}/config`, { url: URL_OF_HOOK.replace('https:', 'http:') }),
    ];
    for (const { status, body } of refused) {
      expect(status).toBe(422);
      expect(body.errors).toMatchObject([
        { code: 'headers_elsewhere', message: expect.stringContaining('authorization') },
      ]);
    }
    const there = new URL('/another/path', URL_OF_HOOK).href;
    expect((await ada.ask('PATCH', `${path}/config`, { url: there })).status).toBe(200);
    const headers = { Authorization: 'Bearer 2', 'x-team': null };
    const moved = await ada.ask('PATCH', `${path}/config`, { url: elsewhere, headers });
    expect(moved.status).toBe(200);
    expect(await opened(id)).toEqual([['authorization', 'Bearer 2']]);
  });

  test.each([
    ['a name of ours', { 'X-Ghost-Event': 'x' }, 'headers.X-Ghost-Event', 'header_name_reserved'],
    ['framing', { 'content-length': '1' }, 'headers.content-length', 'header_name_reserved'],
    ['the host', { Host: 'inside' }, 'headers.Host', 'header_name_reserved'],
    ['a line break', { 'x-a': 'b\r\nx-c: d' }, 'headers.x-a', 'header_value_malformed'],
    ['NUL', { 'x-a': 'b\u0000' }, 'headers.x-a', 'header_value_malformed'],
    ['a name that is none', { 'x a': 'b' }, 'headers.x a', 'header_name_malformed'],
    ['a name that is none, removed', { 'x a': null }, 'headers.x a', 'header_name_malformed'],
    ['the mask', { authorization: MASK }, 'headers.authorization', 'header_value_mask'],
    ['a name twice', { 'x-a': '1', 'X-A': '2' }, 'headers.X-A', 'header_repeated'],
    ['a number', { 'x-a': 1 }, 'headers.x-a', 'invalid'],
  ])('%s is a 422 that names it, and nothing is saved', async (_name, headers, field, code) => {
    const { id } = await addHook({ authorization: VALUE });
    const before = await sealed(id);
    const answer = await edit(id, headers);
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ field, code }] } });
    const config = { url: URL_OF_HOOK, headers };
    const made = await ada.ask('POST', HOOKS, { config });
    expect(made).toMatchObject({ status: 422, body: { errors: [{ field: `config.${field}` }] } });
    expect(await sealed(id)).toBe(before);
    await ada.ask('DELETE', `${HOOKS}/${id}`);
  });

  test('what is too much together is a 422, also when it came bit by bit', async () => {
    const { id } = await addHook(numbered(0, 20));
    const more = await edit(id, { 'x-more': '1' });
    expect(more.body.errors).toMatchObject([{ field: 'headers', code: 'headers_too_many' }]);
    const long = await edit(id, { 'x-0': 'v'.repeat(2_040), 'x-1': 'v'.repeat(2_040) });
    expect(long.body.errors).toMatchObject([{ field: 'headers', code: 'headers_too_long' }]);
    const many = await edit(id, numbered(0, 41));
    expect(many.body.errors).toMatchObject([{ field: 'headers', code: 'invalid' }]);
    expect((await edit(id, { 'x-0': null, 'x-more': '1' })).status).toBe(200);
  });

  test('a new value changes the tag, though it shows as its mask', async () => {
    const { id } = await addHook({ authorization: VALUE });
    for (const path of [`${HOOKS}/${id}`, `${HOOKS}/${id}/config`]) {
      const tag = (await ada.ask('GET', path)).headers.get('etag') ?? '';
      await edit(id, { authorization: `${VALUE}-2` });
      const stale = await ada.ask('PATCH', path, {}, { 'if-match': tag });
      expect(stale.status).toBe(412);
    }
  });

  test('values that cannot be read are given anew or removed together; nothing else needs them', async () => {
    const { id } = await addHook({ authorization: VALUE, 'x-team': 'core' });
    const lost = `lost:${randomBytes(32).toString('base64')}`;
    await api.pool.query('UPDATE hook SET headers_ciphertext = $2 WHERE id = $1', [
      id,
      sealHookHeaders(ring(lost), id, [['authorization', VALUE]]),
    ]);
    expect((await ada.ask('GET', `${HOOKS}/${id}`)).body.config.headers).toEqual({
      authorization: MASK,
      'x-team': MASK,
    });
    const half = await edit(id, { authorization: 'Bearer 2' });
    expect(half.body.errors).toMatchObject([{ field: 'headers', code: 'headers_unreadable' }]);
    expect((await ada.ask('PATCH', `${HOOKS}/${id}`, { active: false })).status).toBe(200);
    expect((await edit(id, { authorization: 'Bearer 2', 'x-team': null })).status).toBe(200);
    expect(await opened(id)).toEqual([['authorization', 'Bearer 2']]);
  });

  test('one that was reserved since it was saved can be removed, and is named until it is', async () => {
    const { id } = await addHook({ 'x-team': 'core' });
    await api.pool.query(
      `UPDATE hook SET headers_ciphertext = $2, header_names = '{x-team,proxy}' WHERE id = $1`,
      [
        id,
        sealHookHeaders(ring(), id, [
          ['x-team', 'core'],
          ['proxy', 'http://127.0.0.1/'],
        ]),
      ],
    );
    const other = await edit(id, { 'x-team': 'edge' });
    expect(other.body.errors).toMatchObject([
      { field: 'headers.proxy', code: 'header_name_reserved' },
    ]);
    expect((await edit(id, { Proxy: null })).status).toBe(200);
    expect((await edit(id, { 'x-team': 'edge' })).status).toBe(200);
    expect(await opened(id)).toEqual([['x-team', 'edge']]);
  });

  test('the audit names the field', async () => {
    const { id } = await addHook({});
    await edit(id, { 'x-team': 'core' });
    const [line] = await listAudit(api.pool, { repository: 'ada/engine', limit: 1 });
    expect(line).toMatchObject({
      action: 'hook.changed',
      detail: { hook: id, changed: ['headers'] },
    });
  });
});

function numbered(from: number, count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${from + n}`, 'v']));
}
