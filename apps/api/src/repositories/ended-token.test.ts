import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { askWhileLocked } from '../../../../test/support/ask-while-locked.js';
import {
  type Json,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../test/support/test-api.js';
import { untilFannedOut } from '../../../../test/support/until-fanned-out.js';

const HOOK = { config: { url: 'https://receiver.example/hook' } };

let api: TestApi;
let ada: Person;
let made = 0;
let place: string;
let hook: Json;
let token: Json;

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
  await api.addPerson('cleo');
  await api.addPerson('eve');
});
afterAll(() => api.stop());

beforeEach(async () => {
  made += 1;
  place = `/repos/ada/place-${made}`;
  await ada.ask('POST', '/user/repos', { name: `place-${made}` });
  await ada.ask('PUT', `${place}/collaborators/cleo`);
  hook = (await ada.ask('POST', `${place}/hooks`, HOOK)).body;
  const scopes = ['repo', 'hooks', 'admin'];
  token = (await ada.ask('POST', '/user/tokens', { label: 'one', scopes })).body;
  // What waits afterwards is the request.
  await untilFannedOut(api.pool);
});

async function state() {
  const { rows } = await api.pool.query(
    `SELECT r.*, (SELECT json_agg(m) FROM member m WHERE m.repository_id = r.id) AS members,
       (SELECT json_agg(h) FROM hook h WHERE h.repository_id = r.id) AS hooks,
       (SELECT count(*) FROM outbox_event e WHERE e.repository_id = r.id AND e.type = 'ping') AS pings
     FROM repository r WHERE r.name = $1`,
    [`place-${made}`],
  );
  return rows;
}

/** Asks with the token, which `ends` while the request waits for the repository. */
function askAndEnd(method: string, path: string, body: unknown, ends: () => Promise<void>) {
  const ask = () =>
    fetch(`${api.url}/api${path}`, {
      method,
      headers: { authorization: `Bearer ${token.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const lock = `SELECT FROM repository WHERE name = 'place-${made}' FOR UPDATE`;
  return askWhileLocked(api.pool, lock, ask, ends);
}

async function revoke(): Promise<void> {
  expect((await ada.ask('DELETE', `/user/tokens/${token.id}`)).status).toBe(204);
}

/** Ends it after the request began, and so after its transaction did. */
async function expire(): Promise<void> {
  await api.pool.query('UPDATE api_token SET expires_at = clock_timestamp() WHERE id = $1', [
    token.id,
  ]);
}

describe('a token that ends while its request waits', () => {
  test.each([
    ['adds no member', 'PUT', () => `${place}/collaborators/eve`, { permission: 'admin' }],
    ['removes no member', 'DELETE', () => `${place}/collaborators/cleo`, {}],
    ['makes nothing public', 'PATCH', () => place, { private: false }],
    ['deletes no repository', 'DELETE', () => place, {}],
    ['makes no hook', 'POST', () => `${place}/hooks`, HOOK],
    ['edits no hook', 'PATCH', () => `${place}/hooks/${hook.id}`, { active: false }],
    ['deletes no hook', 'DELETE', () => `${place}/hooks/${hook.id}`, {}],
    ['pings no hook', 'POST', () => `${place}/hooks/${hook.id}/pings`, {}],
  ])('%s', async (_name, method, path, body) => {
    const before = await state();
    for (const ends of [expire, revoke]) {
      const answer = await askAndEnd(method, path(), body, ends);
      expect(answer.status).toBe(401);
      expect(await answer.json()).toMatchObject({ code: 'bad_credentials' });
      expect(await state()).toEqual(before);
      await api.pool.query('UPDATE api_token SET expires_at = NULL WHERE id = $1', [token.id]);
    }
  });

  test('and one that goes on is heeded', async () => {
    const answer = await askAndEnd('DELETE', place, {}, async () => undefined);
    expect(answer.status).toBe(204);
  });
});
