import { holdLane, listAudit, resumeLane } from '@ghost/operations';
import { createPostgresQueue } from '@ghost/queue';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import {
  type Json,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../test/support/test-api.js';
import { untilFannedOut } from '../../../../test/support/until-fanned-out.js';

const HOOKS = '/repos/ada/engine/hooks';

let api: TestApi;
let ada: Person;
let hook: Json;
let path: string;

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
  await ada.ask('POST', '/user/repos', { name: 'engine' });
});
afterAll(() => api.stop());

beforeEach(async () => {
  hook = (await ada.ask('POST', HOOKS, { config: { url: 'https://receiver.example/' } })).body;
  path = `${HOOKS}/${hook.id}`;
  await untilFannedOut(api.pool);
});

const pause = () => ada.ask('PUT', `${path}/pause`);
const resume = () => ada.ask('DELETE', `${path}/pause`);
const queue = () => createPostgresQueue({ pool: api.pool });

/** The hook's jobs, and whether its lane is due. */
async function waiting() {
  const { rows } = await api.pool.query(
    `SELECT j.status, l.held_reason IS NULL AND l.next_at <= now() AS due FROM delivery_job j
     JOIN delivery_lane l USING (lane, version) WHERE j.hook_id = $1 ORDER BY j.id`,
    [hook.id],
  );
  return rows;
}

async function actions(): Promise<unknown[]> {
  const lines = await listAudit(api.pool, { repository: 'ada/engine' });
  return lines
    .filter(({ detail }) => detail['hook'] === hook.id)
    .map(({ action, detail }) => [action, detail['was']])
    .reverse();
}

test('a paused hook keeps what is sent to it; resumed, all of it is due', async () => {
  expect(hook.held).toBeNull();
  const { status, body } = await pause();
  expect(status).toBe(200);
  expect(body.held).toEqual({
    code: 'paused',
    message: expect.stringContaining('7 days'),
    since: expect.any(String),
    kept: 1,
    expires_at: expect.any(String),
    full: false,
  });
  await ada.ask('POST', `${path}/pings`);
  await untilFannedOut(api.pool);
  const pending = { status: 'pending' };
  expect(await waiting()).toEqual([
    { ...pending, due: false },
    { ...pending, due: false },
  ]);
  const two = { ...body, held: { ...body.held, kept: 2 } };
  expect((await ada.ask('GET', path)).body).toEqual(two);
  expect((await ada.ask('GET', HOOKS)).body).toContainEqual(two);
  const resumed = await resume();
  expect(resumed).toMatchObject({ status: 200, body: { held: null } });
  expect(await waiting()).toEqual([
    { ...pending, due: true },
    { ...pending, due: true },
  ]);
});

test('both can be asked twice, and what changes nothing is in no audit', async () => {
  const first = await pause();
  expect((await pause()).body).toEqual(first.body);
  expect((await resume()).body.held).toBeNull();
  expect((await resume()).body.held).toBeNull();
  expect(await actions()).toEqual([
    ['hook.added', undefined],
    ['hook.paused', undefined],
    ['hook.resumed', 'paused'],
  ]);
});

test('what delivery holds is shown with what to mend, and resumed by the people of the hook', async () => {
  for (const code of [
    'disabled',
    'gone',
    'secret_unreadable',
    'forbidden_address',
    'invalid_url',
  ]) {
    await api.pool.query(
      'UPDATE delivery_lane SET held_reason = $2, held_at = now() WHERE lane = $1',
      [`hook:${hook.id}`, code],
    );
    const { held } = (await ada.ask('GET', path)).body;
    expect(held).toMatchObject({ code, message: expect.stringMatching(/resume the hook\.$/u) });
    // It keeps its reason: that tells what has to be mended.
    expect((await pause()).body.held).toEqual(held);
    expect((await resume()).body.held).toBeNull();
  }
});

test("an operator's hold is shown, and ended by an operator alone", async () => {
  const lane = `hook:${hook.id}`;
  await holdLane(api.pool, queue(), lane, 'too many complaints');
  const { held } = (await ada.ask('GET', path)).body;
  expect(held).toMatchObject({ code: 'operator' });
  expect(held.message).toBe('The operator holds it: too many complaints');
  expect(await resume()).toMatchObject({ status: 409, body: { code: 'held_by_operator' } });
  expect((await waiting()).map(({ due }) => due)).toEqual([false]);
  await resumeLane(api.pool, queue(), lane);
  expect((await ada.ask('GET', path)).body.held).toBeNull();
  expect(await actions()).toEqual([['hook.added', undefined]]);
});

test('a pause is no change by somebody else, for who edits, but a new answer', async () => {
  const before = (await ada.ask('GET', path)).headers.get('etag') ?? '';
  const paused = await pause();
  expect(paused.headers.get('etag')).not.toBe(before);
  const edited = await ada.ask('PATCH', path, { active: false }, { 'if-match': before });
  expect(edited).toMatchObject({ status: 200, body: { held: { code: 'paused' } } });
});
