import { createPostgresQueue } from '@ghost/queue';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { CAPACITY, FAILED, settleAll } from '../../../../../test/support/job-scene.js';
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
let path: string;

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
  await ada.ask('POST', '/user/repos', { name: 'engine' });
  await ada.ask('POST', '/user/repos', { name: 'other' });
});
afterAll(() => api.stop());

/** A hook of its own for each test; its ping waits. */
beforeEach(async () => {
  path = `${ENGINE}/hooks/${await addHook()}`;
});

async function addHook(): Promise<number> {
  const { body } = await ada.ask('POST', `${ENGINE}/hooks`, { config, events: ['thread.opened'] });
  await untilFannedOut(api.pool);
  return body.id;
}

async function newestEvent(): Promise<string> {
  await untilFannedOut(api.pool);
  const { rows } = await api.pool.query<{ id: string }>(
    'SELECT id FROM outbox_event ORDER BY created_at DESC, id DESC LIMIT 1',
  );
  return rows[0]?.id ?? '';
}
async function openThread(repository = ENGINE): Promise<string> {
  await ada.ask('POST', `${repository}/threads`, { title: 'A thread' });
  return newestEvent();
}
const became = (eventId: string) => ada.ask('GET', `${path}/events/${eventId}`);
const told = async (eventId: string): Promise<Json> => (await became(eventId)).body;

describe('what became of an event', () => {
  test('is told while it waits, between two tries, and at its end', async () => {
    const eventId = await openThread();
    const first = await told(eventId);
    expect(first).toMatchObject({
      event_id: eventId,
      event: 'thread.opened',
      state: 'pending',
      attempts: 0,
      reason: null,
      message: 'It is sent as soon as there is room, attempt 1 of 16.',
    });
    // The hook has no success yet, so it sends one at a time: its ping goes first.
    await api.pool.query(
      `UPDATE delivery_job SET status = 'cancelled', finished_at = now() WHERE status = 'pending' AND event_id <> $1`,
      [eventId],
    );
    const queue = createPostgresQueue({ pool: api.pool });
    const claim = await queue.claim({ kind: 'webhook', ...CAPACITY });
    await settleAll(queue, claim, { ...FAILED, delayMs: 240_000 });
    const between = await told(eventId);
    expect(between).toMatchObject({
      state: 'pending',
      attempts: 1,
      reason: 'http_500',
      message: 'Again in about 4 min, attempt 2 of 16.',
    });
    expect(Date.parse(between.next_at)).toBeGreaterThan(Date.now() + 200_000);
    await api.pool.query(
      `UPDATE delivery_job SET status = 'dead', finished_at = now() WHERE event_id = $1`,
      [eventId],
    );
    expect(await told(eventId)).toMatchObject({
      ...{ guid: first.guid, state: 'dead', attempts: 1, next_at: null },
      message: expect.stringContaining('It was given up (http_500)'),
    });
  });

  test('is told when it was skipped, with why', async () => {
    await ada.ask('PATCH', path, { filters: [{ field: 'sender.login', is: ['bob'] }] });
    expect(await told(await openThread())).toMatchObject({
      state: 'skipped',
      guid: null,
      reason: 'filtered',
      message: 'It does not pass the filter of the hook on "sender.login".',
    });
  });

  test('is told while nobody has decided, and when nobody could', async () => {
    const eventId = await openThread();
    await api.pool.query('DELETE FROM delivery_job WHERE event_id = $1', [eventId]);
    await api.pool.query(
      "UPDATE outbox_progress SET done_at = NULL, run_at = now() + interval '1 day' WHERE event_id = $1",
      [eventId],
    );
    expect(await told(eventId)).toMatchObject({ state: 'undecided', guid: null });
    await api.pool.query('UPDATE outbox_progress SET set_aside_at = now() WHERE event_id = $1', [
      eventId,
    ]);
    expect(await told(eventId)).toMatchObject({ state: 'set_aside' });
  });

  test('that was before the hook is told as that', async () => {
    const eventId = await openThread();
    path = `${ENGINE}/hooks/${await addHook()}`;
    expect(await told(eventId)).toMatchObject({ state: 'unknown', guid: null });
  });

  test('is told of its own pings, and of no other hook’s', async () => {
    const ping = await newestEvent();
    expect(await told(ping)).toMatchObject({ event: 'ping', state: 'pending' });
    path = `${ENGINE}/hooks/${await addHook()}`;
    expect((await became(ping)).status).toBe(404);
  });

  test('is told of no event of another repository, of none that is a mail, and of none that is not', async () => {
    expect((await became(await openThread('/repos/ada/other'))).status).toBe(404);
    await ada.ask('POST', '/user/emails', { emails: ['ada@two.example'] });
    expect((await became(await newestEvent())).status).toBe(404);
    for (const none of [crypto.randomUUID(), '7', 'x'.repeat(36)]) {
      expect((await became(none)).status).toBe(404);
    }
  });
});
