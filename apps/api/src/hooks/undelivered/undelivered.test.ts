import { createPostgresQueue } from '@ghost/queue';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { CAPACITY, FAILED, settleAll } from '../../../../../test/support/job-scene.js';
import { nextPage } from '../../../../../test/support/next-page.js';
import {
  type Json,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../../test/support/test-api.js';
import { untilFannedOut } from '../../../../../test/support/until-fanned-out.js';

const ENGINE = '/repos/ada/engine';
const config = { url: 'https://receiver.example/' };

let api: TestApi;
let ada: Person;
let hookId: number;
let path: string;

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
  await ada.ask('POST', '/user/repos', { name: 'engine' });
});
afterAll(() => api.stop());

/** A hook of its own for each test; its ping waits. */
beforeEach(async () => {
  const wanted = { config, events: ['thread.opened'] };
  hookId = (await ada.ask('POST', `${ENGINE}/hooks`, wanted)).body.id;
  path = `${ENGINE}/hooks/${hookId}`;
  await untilFannedOut(api.pool);
});

async function openThread(title: string): Promise<void> {
  await ada.ask('POST', `${ENGINE}/threads`, { title });
  await untilFannedOut(api.pool);
}

/** All pages, of two items each. */
async function walk(list: 'waiting' | 'skipped'): Promise<Json[]> {
  const seen: Json[] = [];
  let at: string | undefined = `${path}/${list}?per_page=2`;
  while (at !== undefined) {
    const page = await ada.ask('GET', at);
    expect(page.status).toBe(200);
    seen.push(...page.body);
    at = nextPage(page);
  }
  return seen;
}

describe('what waits to be sent to a hook', () => {
  test('is listed before its first attempt, and between two', async () => {
    const [ping] = await walk('waiting');
    expect(ping).toMatchObject({
      event: 'ping',
      redelivery: false,
      attempts: 0,
      last_error: null,
      next: { message: 'It is sent as soon as there is room, attempt 1 of 16.' },
    });
    const queue = createPostgresQueue({ pool: api.pool });
    const claim = await queue.claim({ kind: 'webhook', ...CAPACITY });
    const [held] = await walk('waiting');
    expect(held.next).toEqual({ at: null, message: 'It is being sent now, attempt 1 of 16.' });
    await settleAll(queue, claim, { ...FAILED, delayMs: 240_000 });
    const [again] = await walk('waiting');
    expect(again).toMatchObject({
      guid: ping.guid,
      event_id: ping.event_id,
      attempts: 1,
      last_error: 'http_500',
      next: { message: 'Again in about 4 min, attempt 2 of 16.' },
    });
  });

  test('is walked in the order in which it is sent, without gap or repeat', async () => {
    for (const title of ['A', 'B', 'C', 'D']) await openThread(title);
    // Of one moment, as jobs of one page of fan-out are.
    await api.pool.query(
      `UPDATE delivery_job SET run_at = '2026-01-01T00:00:00.123456Z' WHERE hook_id = $1 AND own ->> 'event' <> 'ping'`,
      [hookId],
    );
    const { rows } = await api.pool.query(
      'SELECT id FROM delivery_job WHERE hook_id = $1 ORDER BY run_at, id',
      [hookId],
    );
    const guids = (await walk('waiting')).map(({ guid }) => guid);
    expect(guids).toEqual(rows.map(({ id }) => id));
    expect(guids).toHaveLength(5);
  });

  test('in a hook that rests tells when it is sent', async () => {
    await api.pool.query(
      `UPDATE delivery_lane SET not_before = now() + interval '10 minutes' WHERE lane = $1`,
      [`hook:${hookId}`],
    );
    const [ping] = await walk('waiting');
    expect(ping.next.message).toBe('Again in about 10 min, attempt 1 of 16.');
  });

  test('is found by its event, or by its delivery', async () => {
    for (const title of ['A', 'B']) await openThread(title);
    const [, a, b] = await walk('waiting');
    const found = async (query: string) =>
      (await ada.ask('GET', `${path}/waiting?${query}`)).body.map(({ guid }: Json) => guid);
    expect(await found(`event_id=${a.event_id}`)).toEqual([a.guid]);
    expect(await found(`guid=${b.guid}`)).toEqual([b.guid]);
    expect(await found(`event_id=${a.event_id}&guid=${b.guid}`)).toEqual([]);
    const other = (await ada.ask('POST', `${ENGINE}/hooks`, { config })).body.id;
    const theirs = await ada.ask('GET', `${ENGINE}/hooks/${other}/waiting?guid=${a.guid}`);
    expect(theirs.body).toEqual([]);
    expect((await ada.ask('GET', `${path}/waiting?event_id=7`)).status).toBe(422);
  });

  test('in a paused hook is listed with why it waits', async () => {
    await ada.ask('PUT', `${path}/pause`);
    const [ping] = await walk('waiting');
    expect(ping.next).toEqual({ at: null, message: expect.stringContaining('It is paused.') });
  });

  test('is nothing of another hook', async () => {
    const other = (await ada.ask('POST', `${ENGINE}/hooks`, { config })).body.id;
    await untilFannedOut(api.pool);
    const guids = (await walk('waiting')).map(({ guid }) => guid);
    path = `${ENGINE}/hooks/${other}`;
    const theirs = (await walk('waiting')).map(({ guid }) => guid);
    expect(guids).toHaveLength(1);
    expect(theirs).toHaveLength(1);
    expect(theirs).not.toEqual(guids);
  });
});

describe('what was not sent to a hook', () => {
  test('is found by its event', async () => {
    await ada.ask('PATCH', path, { active: false });
    for (const title of ['A', 'B']) await openThread(title);
    const [b, a] = await walk('skipped');
    for (const one of [a, b]) {
      const found = await ada.ask('GET', `${path}/skipped?event_id=${one.event_id}`);
      expect(found.body).toEqual([one]);
    }
    const other = (await ada.ask('POST', `${ENGINE}/hooks`, { config })).body.id;
    const theirs = await ada.ask('GET', `${ENGINE}/hooks/${other}/skipped?event_id=${a.event_id}`);
    expect(theirs.body).toEqual([]);
    expect((await ada.ask('GET', `${path}/skipped?event_id=x`)).status).toBe(422);
  });

  test('is listed with why, the newest first, without gap or repeat', async () => {
    await ada.ask('PATCH', path, { active: false });
    for (const title of ['A', 'B', 'C']) await openThread(title);
    await ada.ask('PATCH', path, { active: true });
    await ada.ask('POST', `${ENGINE}/threads/1/comments`, { body: 'Hello' });
    await untilFannedOut(api.pool);
    const skipped = await walk('skipped');
    expect(skipped).toMatchObject([
      { event: 'comment.created', reason: 'not_subscribed' },
      ...[1, 2, 3].map(() => ({ event: 'thread.opened', reason: 'inactive' })),
    ]);
    expect(skipped[0].message).toBe('The hook does not ask for this event.');
    expect(skipped[1].message).toBe('The hook was not active.');
    expect(new Set(skipped.map(({ event_id: id }) => id)).size).toBe(4);
  });

  test('is walked by event where several have one time', async () => {
    await ada.ask('PATCH', path, { active: false });
    for (const title of ['A', 'B', 'C', 'D', 'E']) await openThread(title);
    await api.pool.query(
      `UPDATE fanout_skip SET created_at = '2026-01-01T00:00:00.123456Z' WHERE target_id = $1`,
      [hookId],
    );
    const ids = (await walk('skipped')).map(({ event_id: id }) => id);
    expect(ids).toHaveLength(5);
    const { rows } = await api.pool.query(
      'SELECT event_id FROM fanout_skip WHERE target_id = $1 ORDER BY event_id DESC',
      [hookId],
    );
    expect(ids).toEqual(rows.map(({ event_id: id }) => id));
  });
});

test('wrong questions are refused', async () => {
  const page = await ada.ask('GET', `${path}/waiting`);
  expect(page.headers.get('link')).toBeNull();
  await openThread('A');
  const cursor = /after=([^&>]+)/u.exec(
    (await ada.ask('GET', `${path}/waiting?per_page=1`)).headers.get('link') ?? '',
  )?.[1];
  expect((await ada.ask('GET', `${path}/waiting?after=${cursor}`)).status).toBe(200);
  for (const list of ['waiting', 'skipped']) {
    for (const wrong of ['after=x', 'page=2', 'per_page=101', `after=${btoa(`${list}:1`)}`]) {
      expect((await ada.ask('GET', `${path}/${list}?${wrong}`)).status).toBe(422);
    }
    expect((await ada.ask('GET', `${ENGINE}/hooks/999999/${list}`)).status).toBe(404);
  }
  expect((await ada.ask('GET', `${path}/skipped?after=${cursor}`)).status).toBe(422);
});
