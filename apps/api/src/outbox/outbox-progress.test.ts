import { sqlOfPool } from '@ghost/queue';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { FanoutWorld, type Place } from '../../../../test/support/fanout-world.js';
import { OutboxProgress } from './outbox-progress.js';

const RETRY_BASE_MS = 60_000;

let world: FanoutWorld;
let place: Place;
let progress: OutboxProgress;

beforeAll(async () => {
  world = await FanoutWorld.create();
  place = await world.place();
  progress = new OutboxProgress(sqlOfPool(world.pool), RETRY_BASE_MS);
});
afterEach(() => world.pool.query('TRUNCATE outbox_event CASCADE'));
afterAll(() => world.stop());

/** Rows of the notifier alone, one an event, due in the order of the events. */
async function notifierRows(count: number): Promise<string[]> {
  const events: string[] = [];
  for (let n = 0; n < count; n += 1) events.push(await world.publishComment(place));
  await world.pool.query(`DELETE FROM outbox_progress WHERE consumer <> 'notifier'`);
  return events;
}

const claimedEvents = async (rows: number, idle: boolean) =>
  (await progress.claim(rows, idle)).claimed.map((row) => row.event.id).sort();

async function expireLease(event: string): Promise<void> {
  await world.pool.query(
    `UPDATE outbox_progress SET lease_until = now() - interval '1 ms' WHERE event_id = $1`,
    [event],
  );
}

describe('a claim', () => {
  test('takes the oldest due rows, as many as start, and charges only those', async () => {
    const events = await notifierRows(3);
    expect(await claimedEvents(2, true)).toEqual(events.slice(0, 2).sort());
    const states = await Promise.all(events.map((event) => world.progressOf(event)));
    expect(states.map(({ notifier }) => [notifier?.attempts, notifier?.leased])).toEqual([
      [1, true],
      [1, true],
      [0, false],
    ]);
  });

  test('passes over rows that another claim holds or a back-off keeps', async () => {
    const [held, waiting, free] = await notifierRows(3);
    await world.pool.query(
      `UPDATE outbox_progress SET lease_until = now() + interval '1 hour' WHERE event_id = $1`,
      [held],
    );
    await world.pool.query(
      `UPDATE outbox_progress SET run_at = now() + interval '1 hour' WHERE event_id = $1`,
      [waiting],
    );
    expect(await claimedEvents(9, true)).toEqual([free]);
  });

  test('does not wait for a row that an open page has locked', async () => {
    const [locked, free] = await notifierRows(2);
    const page = await world.pool.connect();
    await page.query('BEGIN');
    await page.query('SELECT FROM outbox_progress WHERE event_id = $1 FOR NO KEY UPDATE', [locked]);
    expect(await claimedEvents(9, true)).toEqual([free]);
    await page.query('ROLLBACK');
    page.release();
  });

  test('takes a row whose process died alone, and only when nothing else runs here', async () => {
    const [older, suspect, younger] = (await notifierRows(3)) as [string, string, string];
    await expireLease(suspect);
    expect(await claimedEvents(9, false)).toEqual([older]);
    expect(await claimedEvents(9, false)).toEqual([]);
    expect(await claimedEvents(9, true)).toEqual([suspect]);
    expect(await claimedEvents(9, false)).toEqual([younger]);
  });

  test('sets a row aside whose process died at each of five starts, and says so', async () => {
    const [event] = (await notifierRows(1)) as [string];
    for (let start = 1; start <= 5; start += 1) {
      const { claimed } = await progress.claim(1, true);
      expect(claimed.map((row) => row.attempts)).toEqual([start]);
      await expireLease(event);
    }
    const { claimed, setAside } = await progress.claim(1, true);
    expect(claimed).toEqual([]);
    const error = 'its process died each time';
    expect(setAside).toEqual([
      { eventId: event, consumer: 'notifier', type: 'comment.created', error },
    ]);
    expect((await world.progressOf(event))['notifier']).toMatchObject({
      setAside: true,
      leased: false,
      attempts: 5,
      lastError: error,
    });
    expect(await progress.nextDueInMs()).toBeNull();
  });

  test('leaves events of a type or version that it does not know alone, uncharged and without a timer', async () => {
    const events = await notifierRows(2);
    await world.pool.query('UPDATE outbox_event SET version = 2 WHERE id = $1', [events[0]]);
    await world.pool.query(`UPDATE outbox_event SET type = 'wiki.edited' WHERE id = $1`, [
      events[1],
    ]);
    expect(await claimedEvents(9, true)).toEqual([]);
    expect(await progress.nextDueInMs()).toBeNull();
    const state = await world.progressOf(events[0] as string);
    expect(state['notifier']).toMatchObject({ attempts: 0, leased: false, done: false });
  });
});

describe('a lease that is given back', () => {
  test('is due again at once, and its start is not charged', async () => {
    const [event] = await notifierRows(1);
    const { claimed } = await progress.claim(1, true);
    await progress.giveBack(claimed);
    expect((await world.progressOf(event as string))['notifier']).toMatchObject({
      attempts: 0,
      leased: false,
    });
    expect(await claimedEvents(1, false)).toEqual([event]);
  });

  test('leaves a row alone that was claimed anew', async () => {
    const [event] = (await notifierRows(1)) as [string];
    const { claimed: first } = await progress.claim(1, true);
    await expireLease(event);
    await progress.claim(1, true);
    for (const row of first) progress.owe(row);
    await progress.payBack(0);
    expect((await world.progressOf(event))['notifier']).toMatchObject({
      attempts: 2,
      leased: true,
    });
  });
});

describe('the next time that something is due', () => {
  test('is nothing when all is done', async () => {
    expect(await progress.nextDueInMs()).toBeNull();
  });

  test('is now for a row that is overdue', async () => {
    await notifierRows(1);
    expect(await progress.nextDueInMs()).toBe(0);
  });

  test('is the end of a lease, or of a back-off', async () => {
    const [leased, failed] = (await notifierRows(2)) as [string, string];
    const { claimed } = await progress.claim(2, true);
    const failing = claimed.find((row) => row.event.id === failed);
    if (!failing) throw new Error('The second event was not claimed');
    expect(await progress.fail(failing, 'no')).toBe('retry');
    const untilLeaseEnds = (await progress.nextDueInMs()) ?? 0;
    expect(untilLeaseEnds).toBeGreaterThan(5000);
    expect(untilLeaseEnds).toBeLessThanOrEqual(10_000);
    await world.pool.query('DELETE FROM outbox_event WHERE id = $1', [leased]);
    const untilRetry = (await progress.nextDueInMs()) ?? 0;
    expect(untilRetry).toBeGreaterThan(RETRY_BASE_MS / 2 - 5000);
    expect(untilRetry).toBeLessThanOrEqual(RETRY_BASE_MS);
  });
});
