import { inTransaction, type Pool } from '@ghost/db';
import { readReplay, startReplay } from '@ghost/operations';
import { sqlOf, sqlOfPool } from '@ghost/queue';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';

import {
  createDeliverySeed,
  type DeliverySeed,
} from '../../../../../test/support/delivery-seed.js';
import { addEnded } from '../../../../../test/support/ended-deliveries.js';
import {
  createTestDatabase,
  type TestDatabase,
} from '../../../../../test/support/test-database.js';
import { waitUntil } from '../../../../../test/support/wait-until.js';
import { ReplayRunner } from './replay-runner.js';

let database: TestDatabase;
let seed: DeliverySeed;
let pool: Pool;
let lines: Record<string, unknown>[];
let runner: ReplayRunner;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = database.pool();
  seed = await createDeliverySeed(database.url);
  lines = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  runner = new ReplayRunner(pool, { deliveryWakeUrl: null }, pino({ level: 'debug' }, { write }));
});
afterEach(async () => {
  await runner.onApplicationShutdown();
  await seed.close();
  await database.drop();
});

async function addReplay(): Promise<number> {
  const hookId = await seed.hook('https://receiver.example/');
  await addEnded(pool, hookId, { deliveries: 3 });
  const repository = { id: 1, fullName: 'ghost/core' };
  const at = { hook: { id: hookId, active: true }, repository, actor: null };
  return inTransaction(pool, (tx) =>
    startReplay(sqlOf(tx), at, {
      ...{ which: 'failed', since: new Date(Date.now() - 3_600_000), retentionDays: 30 },
    }),
  );
}

const untilQueued = (id: number) =>
  waitUntil(async () => (await readReplay(sqlOfPool(pool), id)).progress.pending === 3, {
    what: `replay ${id} to make its deliveries pending`,
  });
const timer = (): unknown => Reflect.get(runner, 'timer');
const idle = () =>
  waitUntil(() => Reflect.get(runner, 'running') === undefined, { what: 'the end of a look' });

test('a step that fails holds up no other replay, and is taken again', async () => {
  const [bad, good] = [await addReplay(), await addReplay()];
  await pool.query('ALTER TABLE hook_replay ADD CONSTRAINT no_step CHECK (id <> 1 OR reached = 0)');
  runner.wake();
  await untilQueued(good);
  await waitUntil(() => lines.some(({ event }) => event === 'replay.failed'), { what: 'the log' });
  expect(lines.find(({ event }) => event === 'replay.failed')).toMatchObject({
    ...{ replay_id: bad, level: 40, error: expect.stringContaining('23514') as unknown },
  });
  expect((await readReplay(sqlOfPool(pool), bad)).progress).toMatchObject({ remaining: 3 });
  await pool.query('ALTER TABLE hook_replay DROP CONSTRAINT no_step');
  await untilQueued(bad);
});

test('without a replay that has something to do there is no timer', async () => {
  runner.wake();
  await idle();
  expect(timer()).toBeUndefined();
  const id = await addReplay();
  await pool.query(`UPDATE delivery_lane SET held_reason = 'paused', held_at = now()`);
  runner.wake();
  await idle();
  expect(timer()).toBeUndefined();
  expect(await readReplay(sqlOfPool(pool), id)).toMatchObject({ state: 'waiting' });
});

test('after its end it takes no step', async () => {
  const id = await addReplay();
  await runner.onApplicationShutdown();
  runner.wake();
  await idle();
  expect((await readReplay(sqlOfPool(pool), id)).progress.remaining).toBe(3);
});
