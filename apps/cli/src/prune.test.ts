import type { Pool } from '@ghost/db';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { ghost } from '../../../test/support/ghost-cli.js';
import { addOldAttempts, addOldEvents, countRows } from '../../../test/support/old-rows.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';

let database: TestDatabase;
let pool: Pool;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = database.pool();
});
afterEach(() => database.drop());

const prune = (...args: string[]) => ghost(['prune', ...args], { DATABASE_URL: database.url });

describe('ghost prune', () => {
  test('tells what would go, then deletes it, then finds nothing', async () => {
    await addOldEvents(pool, { events: 1_200, daysAgo: 31 });
    await addOldAttempts(pool, { attempts: 3, daysAgo: 40, day: true });
    const what =
      'what is older than 30 days: 1 whole day of attempts, 1,200 jobs, 1,200 contents, 1,200 events.';
    expect(await prune('--dry-run')).toEqual({ code: 0, out: `Would delete ${what}\n`, err: '' });
    expect(await countRows(pool)).toMatchObject({ events: 1_200, attempts: 3 });
    expect(await prune()).toMatchObject({ code: 0, out: `Deleted ${what}\n` });
    expect(await countRows(pool)).toMatchObject({ events: 0, attempts: 0 });
    expect((await prune()).out).toBe('Nothing is older than 30 days.\n');
  });

  test('takes the days from its option, else from the setting; prints JSON', async () => {
    await addOldEvents(pool, { events: 1, daysAgo: 10 });
    const nine = await ghost(['prune', '--dry-run'], {
      DATABASE_URL: database.url,
      GHOST_RETENTION_DAYS: '9',
    });
    expect(nine.out).toBe('Would delete what is older than 9 days: 1 job, 1 content, 1 event.\n');
    const eight = await prune('--days', '8', '--json');
    expect(JSON.parse(eight.out)).toEqual({
      ...{ days: 8, dryRun: false, expired: 0, attemptDays: 0, attempts: 0 },
      ...{ jobs: 1, contents: 1, skips: 0, events: 1 },
    });
    for (const days of ['0', '7', '3651', 'all', '8.5', '-1']) {
      const bad = await prune('--days', days);
      expect(bad).toMatchObject({ code: 1, out: '' });
      expect(bad.err).toContain('a whole number from 8 to 3650');
    }
  });

  test('leaves it to a runner that is at it already, exit 1', async () => {
    await addOldEvents(pool, { events: 1, daysAgo: 31 });
    const other = await pool.connect();
    await other.query(`SELECT pg_advisory_lock(hashtextextended('ghost_retention', 0))`);
    const busy = await prune();
    other.release(true);
    expect(busy).toMatchObject({ code: 1, out: '' });
    expect(busy.err).toMatch(/^Another runner[^\n]*nothing was done\. Try again later\.\n$/u);
    expect(await countRows(pool)).toMatchObject({ events: 1 });
  });
});
