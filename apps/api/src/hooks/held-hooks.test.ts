import { listAudit } from '@ghost/operations';
import { createPostgresQueue, hookLane, sqlOfPool } from '@ghost/queue';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { CAPACITY } from '../../../../test/support/job-scene.js';
import { proveLanes } from '../../../../test/support/prove-lanes.js';
import {
  type Json,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../test/support/test-api.js';
import { untilFannedOut } from '../../../../test/support/until-fanned-out.js';

const HOOKS = '/repos/ada/engine/hooks';
const MOST = 5;

let api: TestApi;
let ada: Person;
let path: string;
let hookId: number;

beforeAll(async () => {
  api = await startTestApi({ env: { GHOST_HELD_MOST: String(MOST) } });
  ada = await api.addPerson('ada');
  await ada.ask('POST', '/user/repos', { name: 'engine' });
});
afterAll(() => api.stop());

beforeEach(async () => {
  const { body } = await ada.ask('POST', HOOKS, { config: { url: 'https://receiver.example/' } });
  hookId = body.id;
  path = `${HOOKS}/${hookId}`;
  await untilFannedOut(api.pool);
  // As the rule does.
  const queue = createPostgresQueue({ pool: api.pool });
  await queue.hold(sqlOfPool(api.pool), hookLane(hookId), 'disabled');
});

async function pings(count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += 1) await ada.ask('POST', `${path}/pings`);
  await untilFannedOut(api.pool);
}
const held = async (): Promise<Json> => (await ada.ask('GET', path)).body.held;
const resume = (query = '') => ada.ask('DELETE', `${path}/pause${query}`);

async function jobs(): Promise<unknown[]> {
  const { rows } = await api.pool.query(
    'SELECT status, last_error AS why FROM delivery_job WHERE hook_id = $1 ORDER BY id',
    [hookId],
  );
  return rows;
}

async function resumptions(): Promise<unknown[]> {
  const lines = await listAudit(api.pool, { repository: 'ada/engine' });
  const ofHook = lines.filter(({ detail }) => detail['hook'] === hookId);
  return ofHook
    .filter(({ action }) => action !== 'hook.added')
    .map((line) => [line.action, line.detail]);
}

test('a disabled hook says what it keeps, until when, and when it is full', async () => {
  const { rows } = await api.pool.query<{ expires_at: Date }>(
    'SELECT expires_at FROM delivery_job WHERE hook_id = $1',
    [hookId],
  );
  expect(await held()).toEqual({
    code: 'disabled',
    message: expect.stringMatching(/^It was disabled, .* then resume the hook\.$/u),
    since: expect.any(String),
    kept: 1,
    expires_at: rows[0]?.expires_at.toISOString(),
    full: false,
  });
  await pings(MOST + 1);
  expect(await held()).toMatchObject({ kept: MOST, full: true });
  expect((await ada.ask('GET', HOOKS)).body).toContainEqual(
    expect.objectContaining({ id: hookId, held: expect.objectContaining({ kept: MOST }) }),
  );
  const { body: waiting } = await ada.ask('GET', `${path}/waiting`);
  expect(waiting).toHaveLength(MOST);
  for (const { next } of waiting) {
    expect(next.message).toMatch(/^It waits until the hook is resumed, till .* It was disabled/u);
  }
  const { body: skipped } = await ada.ask('GET', `${path}/skipped`);
  expect(skipped).toHaveLength(2);
  expect(skipped[0]).toMatchObject({
    event: 'ping',
    reason: 'held_full',
    message: expect.stringContaining('kept as many deliveries as it may'),
  });
});

test('resumed, it sends what it kept; that is also what is meant when nothing is said', async () => {
  await pings(2);
  expect(await resume('?held=send')).toMatchObject({ status: 200, body: { held: null } });
  const pending = { status: 'pending', why: null };
  expect(await jobs()).toEqual([pending, pending, pending]);
  expect(await resumptions()).toEqual([['hook.resumed', { hook: hookId, was: 'disabled' }]]);
});

test('resumed with held=discard, it ends what it kept, and takes what comes next', async () => {
  await pings(2);
  expect(await resume('?held=discard')).toMatchObject({ status: 200, body: { held: null } });
  const discarded = { status: 'cancelled', why: 'discarded' };
  expect(await jobs()).toEqual([discarded, discarded, discarded]);
  expect(await resumptions()).toEqual([
    ['hook.resumed', { hook: hookId, was: 'disabled', discarded: 3 }],
  ]);
  const { body: shown } = await ada.ask('GET', `${path}/deliveries`);
  const { body: one } = await ada.ask('GET', `${path}/deliveries/${shown[0].id}`);
  // By whom is not known: the people of a hook discard too, and not the operator alone.
  expect(one.explanation).toMatchObject({
    ...{ outcome: 'cancelled', reason: 'discarded' },
    message: 'It was discarded, and is not sent.',
  });
  await pings(1);
  expect(await jobs()).toContainEqual({ status: 'pending', why: null });
  // It is not held: nothing is discarded.
  expect((await resume('?held=discard')).status).toBe(200);
  expect(await jobs()).toContainEqual({ status: 'pending', why: null });
});

test('what was held past its time does not hide what the endpoint answered last', async () => {
  const queue = createPostgresQueue({ pool: api.pool });
  await resume();
  await proveLanes(api.pool, [hookLane(hookId)]);
  const claim = await queue.claim({ ...CAPACITY, kind: 'webhook' });
  const facts = { status: 410, message: 'The endpoint answered 410 Gone.' };
  await queue.settle(
    claim.jobs.map((job) => ({
      ...{ ...job, outcome: 'held' as const, reason: 'gone', charged: false, delayMs: 0 },
      attempt: { startedAt: new Date().toISOString(), timings: { total: 1 }, ...facts },
    })),
  );
  const last = async () => (await ada.ask('GET', path)).body.last_response;
  const gone = { code: 410, status: 'gone', message: facts.message };
  expect(await last()).toEqual(gone);
  await api.pool.query(
    `UPDATE delivery_job SET expires_at = now() - interval '1 second' WHERE hook_id = $1`,
    [hookId],
  );
  await resume();
  expect((await queue.claim({ ...CAPACITY, kind: 'webhook' })).jobs).toEqual([]);
  expect((await ada.ask('GET', `${path}/deliveries`)).body[0]).toMatchObject({ status: 'expired' });
  expect(await last()).toEqual(gone);
});

test('what is being sent is not discarded: nobody knows whether it arrives', async () => {
  await api.pool.query(
    `UPDATE delivery_job SET lease_until = now() + interval '1 minute', lease_no = 1 WHERE hook_id = $1`,
    [hookId],
  );
  await pings(1);
  await resume('?held=discard');
  expect(await jobs()).toEqual([
    { status: 'pending', why: null },
    { status: 'cancelled', why: 'discarded' },
  ]);
});

test('a great many are discarded in steps, and none is sent on the way', async () => {
  await api.pool.query(
    `INSERT INTO delivery_job (id, idempotency_key, event_id, content_id, kind, version, lane, hook_id, repository_id, own, expires_at)
     SELECT gen_random_uuid(), 'many:' || n, j.event_id, j.content_id, 'webhook', 1, j.lane, j.hook_id, j.repository_id, j.own, j.expires_at
     FROM delivery_job j, generate_series(1, 5000) AS n WHERE j.hook_id = $1`,
    [hookId],
  );
  expect(await resume('?held=discard')).toMatchObject({ status: 200, body: { held: null } });
  const { rows } = await api.pool.query(
    'SELECT status, count(*)::int AS jobs FROM delivery_job WHERE hook_id = $1 GROUP BY status',
    [hookId],
  );
  expect(rows).toEqual([{ status: 'cancelled', jobs: 5001 }]);
  expect(await resumptions()).toEqual([
    ['hook.resumed', { hook: hookId, was: 'disabled', discarded: 1 }],
    ['hook.discarded', { hook: hookId, was: 'disabled', discarded: 5000 }],
  ]);
});

test('another choice is refused, and changes nothing', async () => {
  expect(await resume('?held=burn')).toMatchObject({
    status: 422,
    body: { errors: [{ field: 'held' }] },
  });
  expect(await resume('?hold=discard')).toMatchObject({ status: 422 });
  expect(await held()).toMatchObject({ code: 'disabled', kept: 1 });
});

test('that it fails is shown, and is no edit by somebody else', async () => {
  await resume();
  const before = await ada.ask('GET', path);
  expect(before.body.failing_since).toBeNull();
  await api.pool.query('UPDATE delivery_lane SET failing_since = now() WHERE lane = $1', [
    hookLane(hookId),
  ]);
  const after = await ada.ask('GET', path);
  expect(after.body.failing_since).toEqual(expect.any(String));
  const [tag, newTag] = [before, after].map(({ headers }) => headers.get('etag') ?? '');
  expect(newTag).not.toBe(tag);
  const changed = await ada.ask('PATCH', path, { active: false }, { 'if-match': tag ?? '' });
  expect(changed.status).toBe(200);
});
