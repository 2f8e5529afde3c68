import { createDatabase, OUTBOX_CHANNEL, type Pool, publishEvent } from '@ghost/db';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { waitUntil } from '../../../test/support/wait-until.js';
import { listOutbox, retryOutbox } from './outbox.js';

const UNKNOWN_ID = '019a0000-0000-7000-8000-000000000000';

let database: TestDatabase;
let pool: Pool;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = database.pool();
});
afterEach(() => database.drop());

async function publish(): Promise<string> {
  const sender = { id: 1, login: 'ada', name: 'Ada' };
  const html_url = 'https://ghost.example/ada/engine';
  const repository = {
    id: 7,
    owner: 'ada',
    name: 'engine',
    full_name: 'ada/engine',
    private: false,
    html_url,
  };
  return createDatabase(pool).transaction((tx) =>
    publishEvent(tx, {
      type: 'member.added',
      repositoryId: 7,
      payload: { sender, repository, member: { ...sender, id: 2 } },
    }),
  );
}

/** Sets columns of one consumer's progress. */
async function progress(eventId: string, consumer: string, assignments: string): Promise<void> {
  await pool.query(
    `UPDATE outbox_progress SET ${assignments} WHERE event_id = $1 AND consumer = $2`,
    [eventId, consumer],
  );
}

const states = async (filter = {}) =>
  (await listOutbox(pool, filter)).map((row) => `${row.consumer}: ${row.state}`);

describe('the list', () => {
  test('shows what is set aside first, with error and event, then what waits, and nothing that is done', async () => {
    const first = await publish();
    const second = await publish();
    await progress(first, 'webhook-fanout', 'done_at = now()');
    await progress(
      first,
      'notifier',
      `attempts = 2, last_error = 'no', run_at = now() + interval '1 hour'`,
    );
    await progress(second, 'notifier', `attempts = 5, last_error = 'broken', set_aside_at = now()`);
    await progress(second, 'webhook-fanout', `lease_until = now() + interval '1 hour'`);
    expect(await states()).toEqual([
      'notifier: set_aside',
      'notifier: failing',
      'webhook-fanout: running',
    ]);
    const [row] = await listOutbox(pool);
    expect(row).toEqual({
      eventId: second,
      type: 'member.added',
      version: 1,
      repository: 'ada/engine',
      consumer: 'notifier',
      state: 'set_aside',
      attempts: 5,
      lastError: 'broken',
      createdAt: expect.any(Date),
      nextAt: null,
      setAsideAt: expect.any(Date),
    });
  });

  test('shows an event that this version does not know as what it is', async () => {
    await publish();
    await pool.query('UPDATE outbox_event SET version = 9');
    expect(await states()).toEqual(['notifier: unknown_type', 'webhook-fanout: unknown_type']);
  });

  test('keeps to a state, a consumer and a limit', async () => {
    const event = await publish();
    await publish();
    await progress(event, 'notifier', `last_error = 'broken', set_aside_at = now()`);
    expect(await states({ state: 'set_aside' })).toEqual(['notifier: set_aside']);
    expect(await states({ consumer: 'notifier' })).toEqual([
      'notifier: set_aside',
      'notifier: pending',
    ]);
    expect(await states({ limit: 1 })).toHaveLength(1);
  });
});

describe('a retry', () => {
  test('makes an event that was set aside due again where it stopped, with a fresh budget, and wakes fan-out', async () => {
    const event = await publish();
    await progress(
      event,
      'notifier',
      `attempts = 5, cursor = 'page 7', last_error = 'broken', set_aside_at = now()`,
    );
    await progress(event, 'webhook-fanout', 'done_at = now()');
    const heard: string[] = [];
    const listener = new pg.Client({ connectionString: database.url });
    await listener.connect();
    listener.on('notification', ({ channel }) => heard.push(channel));
    await listener.query(`LISTEN ${OUTBOX_CHANNEL}`);
    expect(await retryOutbox(pool, event)).toEqual({
      result: 'done',
      eventId: event,
      consumers: ['notifier'],
    });
    const { rows } = await pool.query(
      `SELECT attempts, cursor, set_aside_at, done_at, run_at <= now() AS due FROM outbox_progress WHERE consumer = 'notifier'`,
    );
    expect(rows).toEqual([
      { attempts: 0, cursor: 'page 7', set_aside_at: null, done_at: null, due: true },
    ]);
    await waitUntil(() => heard.length > 0, { what: 'the wake' });
    expect(heard).toEqual([OUTBOX_CHANNEL]);
    await listener.end();
  });

  test('ends a back-off, and may name one consumer', async () => {
    const event = await publish();
    await pool.query(
      `UPDATE outbox_progress SET run_at = now() + interval '1 hour', last_error = 'no'`,
    );
    expect(await retryOutbox(pool, event, 'webhook-fanout')).toMatchObject({
      consumers: ['webhook-fanout'],
    });
    const { rows } = await pool.query<{ consumer: string }>(
      'SELECT consumer FROM outbox_progress WHERE run_at <= now()',
    );
    expect(rows).toEqual([{ consumer: 'webhook-fanout' }]);
  });

  test('is refused with the reason for what is done, under way or unknown', async () => {
    const done = await publish();
    await pool.query('UPDATE outbox_progress SET done_at = now()');
    const underWay = await publish();
    await pool.query(
      `UPDATE outbox_progress SET lease_until = now() + interval '1 hour' WHERE event_id = $1`,
      [underWay],
    );
    const reasonOf = async (event: string) => {
      const change = await retryOutbox(pool, event);
      return change.result === 'refused' ? change.reason : change.result;
    };
    expect(await reasonOf(done)).toContain('fanned out already');
    expect(await reasonOf(underWay)).toContain('under way');
    expect(await reasonOf(UNKNOWN_ID)).toContain('no such event');
  });
});
