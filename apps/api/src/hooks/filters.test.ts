import { listAudit } from '@ghost/operations';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import {
  type Json,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../test/support/test-api.js';
import { untilFannedOut } from '../../../../test/support/until-fanned-out.js';

const ENGINE = '/repos/ada/engine';
const config = { url: 'https://receiver.example/hook' };
const NOT_BOB = [{ field: 'sender.login', is_not: ['BOB'] }];

let api: TestApi;
let ada: Person;
let bob: Person;
let hook: Json;
let path: string;

beforeAll(async () => {
  api = await startTestApi();
  [ada, bob] = [await api.addPerson('ada'), await api.addPerson('bob')];
  await ada.ask('POST', '/user/repos', { name: 'engine', private: false });
});
afterAll(() => api.stop());

/** A hook of its own for each test. */
beforeEach(async () => {
  const wanted = { config, events: ['thread.opened', 'comment.created'], filters: NOT_BOB };
  const made = await ada.ask('POST', `${ENGINE}/hooks`, wanted);
  expect(made.status).toBe(201);
  hook = made.body;
  path = `${ENGINE}/hooks/${hook.id}`;
  return async () => {
    await ada.ask('DELETE', path);
  };
});

const edit = (body: unknown, headers = {}) => ada.ask('PATCH', path, body, headers);

/** What became of the events that are no pings, the newest first. */
async function skipped(): Promise<Json[]> {
  await untilFannedOut(api.pool);
  return (await ada.ask('GET', `${path}/skipped`)).body;
}
async function waiting(): Promise<string[]> {
  await untilFannedOut(api.pool);
  return (await ada.ask('GET', `${path}/waiting`)).body.map(({ event }: Json) => event);
}

describe('filters of a hook', () => {
  test('decide what it gets; what they stop is told, with the field', async () => {
    await bob.ask('POST', `${ENGINE}/threads`, { title: 'Of Bob' });
    await ada.ask('POST', `${ENGINE}/threads`, { title: 'Of Ada' });
    expect(await waiting()).toEqual(['ping', 'thread.opened']);
    expect(await skipped()).toMatchObject([
      {
        event: 'thread.opened',
        reason: 'filtered',
        message: 'It does not pass the filter of the hook on "sender.login".',
      },
    ]);
  });

  test('stop no ping', async () => {
    await edit({ filters: [{ field: 'sender.login', is: ['nobody'] }] });
    await ada.ask('POST', `${path}/pings`);
    expect(await waiting()).toEqual(['ping', 'ping']);
  });

  test('are shown, replaced and taken away; what an edit does not name stays', async () => {
    expect(hook.filters).toEqual(NOT_BOB);
    expect((await edit({ active: true })).body.filters).toEqual(NOT_BOB);
    expect((await edit({ config })).body.filters).toEqual(NOT_BOB);
    const filters = [
      { field: 'thread.title', contains: ['Bug', 'bug'] },
      { field: 'thread.number', is: [1, 2] },
    ];
    expect((await edit({ filters })).body.filters).toEqual(filters);
    expect((await ada.ask('GET', path)).body.filters).toEqual(filters);
    expect((await edit({ filters: [] })).body.filters).toEqual([]);
    const plain = (await ada.ask('POST', `${ENGINE}/hooks`, { config })).body;
    expect(plain.filters).toEqual([]);
    await ada.ask('DELETE', `${ENGINE}/hooks/${plain.id}`);
  });

  test('are a part of what If-Match guards', async () => {
    const { headers } = await ada.ask('GET', path);
    const seen = { 'if-match': headers.get('etag') ?? '' };
    const same = await edit({ filters: NOT_BOB }, seen);
    expect(same).toMatchObject({ status: 200, body: { updated_at: hook.updated_at } });
    expect((await edit({ filters: [] }, seen)).status).toBe(200);
    expect((await edit({ active: false }, seen)).status).toBe(412);
  });

  test('stand in the audit by their fields, without their values', async () => {
    await edit({ filters: [{ field: 'thread.title', contains: ['a word of mine'] }] });
    const lines = await listAudit(api.pool, { repository: 'ada/engine' });
    const [changed, added] = lines.filter(({ detail }) => detail['hook'] === hook.id);
    expect(added?.detail).toMatchObject({ after: { filters: ['sender.login'] } });
    expect(changed?.detail).toMatchObject({
      changed: ['filters'],
      before: { filters: ['sender.login'] },
      after: { filters: ['thread.title'] },
    });
    expect(JSON.stringify(lines)).not.toContain('a word of mine');
  });

  test('that name what there is not are refused, with what there is', async () => {
    const refused = await edit({ filters: [...NOT_BOB, { field: 'sender.email', is: ['a'] }] });
    expect(refused).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'filters.1.field', code: 'invalid' }] },
    });
    expect(refused.body.errors[0].message).toContain('sender.login');
    const misspelt = await edit({ filters: [{ field: 'sender.login', isnt: ['bob'] }] });
    expect(misspelt.body.errors).toMatchObject([
      { field: 'filters.0.isnt', code: 'unknown_field' },
    ]);
    expect((await edit({ filters: 'sender.login' })).status).toBe(422);
    expect((await ada.ask('GET', path)).body.filters).toEqual(NOT_BOB);
  });

  test('that nothing could pass are refused, by whichever of the two an edit brings about', async () => {
    const onComments = [...NOT_BOB, { field: 'comment.number', is: [1] }];
    const futile = (field: string) => ({
      status: 422,
      body: { errors: [{ field, code: 'never_matches' }] },
    });
    const wanted = { config, events: ['thread.opened'], filters: onComments };
    expect(await ada.ask('POST', `${ENGINE}/hooks`, wanted)).toMatchObject(
      futile('filters.1.field'),
    );
    expect(await edit({ filters: [{ field: 'member.login', is: ['a'] }] })).toMatchObject(
      futile('filters.0.field'),
    );
    expect((await edit({ filters: onComments })).status).toBe(200);
    expect(await edit({ events: ['thread.opened'] })).toMatchObject(futile('filters.1.field'));
    expect(await edit({ remove_events: ['comment.created'] })).toMatchObject(
      futile('filters.1.field'),
    );
    expect((await edit({ events: ['member.added'], filters: NOT_BOB })).status).toBe(200);
    const both = [...onComments, { field: 'member.login', is: ['a'] }];
    expect(await edit({ events: ['*'], filters: both })).toMatchObject(futile('filters'));
  });

  test('of a newer version stop what they are on, and can still be edited', async () => {
    await api.pool.query('UPDATE hook SET filters = $2 WHERE id = $1', [
      hook.id,
      JSON.stringify([{ field: 'thread.labels', any: ['bug'] }]),
    ]);
    await ada.ask('POST', `${ENGINE}/threads`, { title: 'Later' });
    expect(await skipped()).toMatchObject([{ reason: 'filtered' }]);
    expect((await edit({ active: true })).status).toBe(200);
    expect((await edit({ filters: [] })).body.filters).toEqual([]);
  });
});
