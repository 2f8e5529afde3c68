import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import {
  type Json,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../test/support/test-api.js';

const HOOKS = '/repos/ada/engine/hooks';
const URL_OF_HOOK = 'https://receiver.example/hook';

let api: TestApi;
let ada: Person;
let hook: Json;

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
  await ada.ask('POST', '/user/repos', { name: 'engine' });
});
afterAll(() => api.stop());

beforeEach(async () => {
  const made = await ada.ask('POST', HOOKS, { config: { url: URL_OF_HOOK, rate_limit: 60 } });
  expect(made.status).toBe(201);
  hook = made.body;
  return async () => {
    await ada.ask('DELETE', `${HOOKS}/${hook.id}`);
  };
});

const edit = (config: object) => ada.ask('PATCH', `${HOOKS}/${hook.id}`, { config });
const editConfig = (config: object) => ada.ask('PATCH', `${HOOKS}/${hook.id}/config`, config);

/** What the queue heeds. */
async function ofLane(): Promise<number | null | undefined> {
  const { rows } = await api.pool.query<{ per_minute: number | null }>(
    'SELECT per_minute FROM delivery_lane WHERE lane = $1',
    [`hook:${hook.id}`],
  );
  return rows[0]?.per_minute;
}

describe('the rate limit of a hook', () => {
  test('is shown, and heeded by the queue from the first delivery on', async () => {
    expect(hook.config.rate_limit).toBe(60);
    expect(await ofLane()).toBe(60);
    const shown = await ada.ask('GET', `${HOOKS}/${hook.id}/config`);
    expect(shown.body.rate_limit).toBe(60);
  });

  test('goes by the rules of a config: what replaces all of it lifts the limit, what names it sets it', async () => {
    expect((await editConfig({ github_signature: true })).body.rate_limit).toBe(60);
    expect(await ofLane()).toBe(60);
    expect((await editConfig({ rate_limit: 600 })).body.rate_limit).toBe(600);
    expect(await ofLane()).toBe(600);
    expect((await edit({ url: URL_OF_HOOK })).body.config.rate_limit).toBeNull();
    expect(await ofLane()).toBeNull();
    expect((await editConfig({ rate_limit: null })).body.rate_limit).toBeNull();
  });

  test('is audited, and an edit of somebody who saw another one is refused', async () => {
    const before = await fetch(`${api.url}/api${HOOKS}/${hook.id}`, {
      headers: { authorization: `Bearer ${ada.token}` },
    });
    const seen = before.headers.get('etag') ?? '';
    await editConfig({ rate_limit: 5 });
    const stale = await fetch(`${api.url}/api${HOOKS}/${hook.id}`, {
      method: 'PATCH',
      headers: {
        authorization: `Bearer ${ada.token}`,
        'content-type': 'application/json',
        'if-match': seen,
      },
      body: '{"active":false}',
    });
    expect(stale.status).toBe(412);
    const { rows } = await api.pool.query(
      `SELECT detail -> 'changed' AS changed FROM audit_entry WHERE action = 'hook.changed' ORDER BY id DESC LIMIT 1`,
    );
    expect(rows[0]).toEqual({ changed: ['rate_limit'] });
  });

  test.each([0, -1, 1.5, 60_001, '60', true])('is no %j', async (rate) => {
    const refused = await editConfig({ rate_limit: rate });
    expect(refused.status).toBe(422);
    expect(refused.body.errors).toMatchObject([{ field: 'rate_limit' }]);
    expect(await ofLane()).toBe(60);
  });
});
