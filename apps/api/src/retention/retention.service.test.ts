import type { Pool } from '@ghost/db';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { FanoutWorld } from '../../../../test/support/fanout-world.js';
import { addOldEvents, countRows } from '../../../../test/support/old-rows.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import type { BackgroundRun } from '../background-run.js';
import { RetentionService } from './retention.service.js';

const HOUR_MS = 60 * 60_000;
const NOON = Date.UTC(2026, 10, 1, 12);

let database: TestDatabase;
let pool: Pool;
let now = NOON;
let lines: Record<string, unknown>[];

beforeEach(async () => {
  database = await createTestDatabase();
  pool = database.pool();
  lines = [];
  now = NOON;
});
afterEach(() => database.drop());

/** Its log is told of, and the clock of the process is the test's. */
function startRetention(listenUrl = database.url): RetentionService {
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  return new RetentionService(
    { listenUrl },
    { retentionDays: 30 },
    pino({ level: 'debug' }, { write }),
    () => now,
  );
}

const isUnderWay = (one: RetentionService) => (Reflect.get(one, 'run') as BackgroundRun).isUnderWay;
const logged = (count: number) =>
  waitUntil(() => lines.length === count, { what: `line ${count} of the log` });

describe('retention', () => {
  test('runs once a UTC day, however often something is done', async () => {
    await addOldEvents(pool, { events: 3, daysAgo: 31 });
    const retention = startRetention();
    retention.worked();
    retention.worked();
    await logged(1);
    expect(lines[0]).toMatchObject({
      ...{ event: 'retention.pruned', result: 'done', days: 30 },
      ...{ events: 3, jobs: 3, contents: 3, postponed: false },
    });
    await addOldEvents(pool, { events: 1, daysAgo: 31 });
    now += 12 * HOUR_MS - 1;
    retention.worked();
    expect(isUnderWay(retention)).toBe(false);
    now += 1;
    retention.worked();
    await logged(2);
    expect(lines[1]).toMatchObject({ event: 'retention.pruned', events: 1 });
    expect(await countRows(pool)).toMatchObject({ events: 0 });
  });

  test('tries again an hour after it met another runner, or failed', async () => {
    await addOldEvents(pool, { events: 1, daysAgo: 31 });
    const other = await pool.connect();
    const retention = startRetention();
    try {
      await other.query(`SELECT pg_advisory_lock(hashtextextended('ghost_retention', 0))`);
      retention.worked();
      await logged(1);
      expect(lines[0]).toMatchObject({ event: 'retention.busy' });
    } finally {
      other.release(true);
    }
    now += HOUR_MS;
    await waitUntil(
      async () => {
        const { rowCount } = await pool.query(
          `SELECT FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
        );
        return rowCount === 0;
      },
      { what: 'the lock to be free' },
    );
    retention.worked();
    await logged(2);
    expect(lines[1]).toMatchObject({ event: 'retention.pruned', events: 1 });

    const failing = startRetention('postgres://nobody@127.0.0.1:1/none');
    failing.worked();
    await logged(3);
    expect(lines[2]).toMatchObject({ event: 'retention.failed', level: 40 });
    failing.worked();
    expect(isUnderWay(failing)).toBe(false);
  });

  test('stops with its process, after the step under way', async () => {
    await addOldEvents(pool, { events: 2_000, daysAgo: 31 });
    const retention = startRetention();
    retention.worked();
    await waitUntil(async () => (await countRows(pool)).events < 2_000, { what: 'a step' });
    await retention.onApplicationShutdown();
    expect(lines[0]).toMatchObject({ event: 'retention.pruned', result: 'stopped' });
    expect((await countRows(pool)).events).toBeGreaterThan(0);
    retention.worked();
    expect(lines).toHaveLength(1);
  });
});

test('the outbox tells of a drain that did something, and of no other', async () => {
  const world = await FanoutWorld.create();
  try {
    const worked = vi.fn<() => void>();
    const place = await world.place();
    const outbox = await world.startOutbox({ retention: { worked } });
    const idle = () =>
      waitUntil(() => Reflect.get(outbox.service, 'draining') === undefined, {
        what: 'the end of the drain',
      });
    await idle();
    expect(worked).not.toHaveBeenCalled();
    await world.untilProcessed(await world.publishComment(place));
    await idle();
    expect(worked).toHaveBeenCalled();
  } finally {
    await world.stop();
  }
});
