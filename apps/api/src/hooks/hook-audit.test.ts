import { listAudit } from '@ghost/operations';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { type Person, startTestApi, type TestApi } from '../../../../test/support/test-api.js';

const HOOKS = '/repos/ada/engine/hooks';
const PATH = '/path-of-mine';
const SECRET = 'a-secret-that-nobody-reads';
const ORIGIN = 'https://receiver.example:8443';

let api: TestApi;
let ada: Person;

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
  await ada.ask('POST', '/user/repos', { name: 'engine' });
});
afterAll(() => api.stop());

/** The lines of a hook, the oldest first. */
async function linesOf(hookId: number) {
  const lines = await listAudit(api.pool, { repository: 'ada/engine' });
  return lines.filter(({ detail }) => detail['hook'] === hookId).reverse();
}

async function addHook() {
  const { body } = await ada.ask('POST', HOOKS, {
    events: ['thread.opened'],
    config: { url: `${ORIGIN}${PATH}?token=T`, secret: SECRET },
  });
  return body;
}

test('who makes, changes and deletes a hook stands in the audit, with no path and no secret', async () => {
  const { id } = await addHook();
  await ada.ask('PATCH', `${HOOKS}/${id}`, { active: false, add_events: ['thread.closed'] });
  await ada.ask('PATCH', `${HOOKS}/${id}/config`, {
    url: `https://other.example${PATH}`,
    secret: SECRET,
    github_signature: true,
  });
  await ada.ask('PATCH', `${HOOKS}/${id}/config`, { url: `https://other.example${PATH}/2` });
  await ada.ask('DELETE', `${HOOKS}/${id}`);
  const lines = await linesOf(id);
  const first = { events: ['thread.opened'], active: true, origin: ORIGIN };
  const second = { ...first, events: ['thread.opened', 'thread.closed'], active: false };
  const third = { ...second, origin: 'https://other.example' };
  expect(lines.map(({ action, detail }) => ({ action, detail }))).toEqual([
    { action: 'hook.added', detail: { hook: id, after: first } },
    {
      action: 'hook.changed',
      detail: { hook: id, changed: ['events', 'active'], before: first, after: second },
    },
    {
      action: 'hook.changed',
      detail: {
        hook: id,
        changed: ['url', 'github_signature', 'secret'],
        before: second,
        after: third,
      },
    },
    {
      action: 'hook.changed',
      detail: { hook: id, changed: ['url'], before: third, after: third },
    },
    { action: 'hook.removed', detail: { hook: id, before: third } },
  ]);
  for (const line of lines) {
    expect(line).toMatchObject({ actor: 'ada', repository: 'ada/engine', subject: null });
    expect(line.tokenId).not.toBeNull();
  }
  expect(JSON.stringify(lines)).not.toMatch(/path-of-mine|token=|secret-that/u);
});

test('what changes nothing, or is refused, has no line', async () => {
  const { id, updated_at } = await addHook();
  const before = await linesOf(id);
  expect(before).toHaveLength(1);
  expect((await ada.ask('PATCH', `${HOOKS}/${id}`, { active: true })).status).toBe(200);
  expect((await ada.ask('POST', `${HOOKS}/${id}/pings`)).status).toBe(204);
  const stale = { 'if-match': '"stale"' };
  const refused = await ada.ask('PATCH', `${HOOKS}/${id}`, { active: false }, stale);
  expect(refused.status).toBe(412);
  expect((await ada.ask('DELETE', `${HOOKS}/${id}`, undefined, stale)).status).toBe(412);
  expect(await linesOf(id)).toEqual(before);
  expect((await ada.ask('GET', `${HOOKS}/${id}`)).body.updated_at).toBe(updated_at);
});

test('without its line there is no change', async () => {
  const { id } = await addHook();
  await api.pool.query(
    `ALTER TABLE audit_entry ADD CONSTRAINT no_hooks CHECK (action NOT LIKE 'hook.%') NOT VALID`,
  );
  try {
    const before = await ada.ask('GET', HOOKS);
    const make = { config: { url: ORIGIN } };
    expect((await ada.ask('POST', HOOKS, make)).status).toBe(500);
    expect((await ada.ask('PATCH', `${HOOKS}/${id}`, { active: false })).status).toBe(500);
    expect((await ada.ask('DELETE', `${HOOKS}/${id}`)).status).toBe(500);
    expect((await ada.ask('GET', HOOKS)).body).toEqual(before.body);
  } finally {
    await api.pool.query('ALTER TABLE audit_entry DROP CONSTRAINT no_hooks');
  }
});
