import type { Pool } from '@ghost/db';
import { listAudit } from '@ghost/operations';
import { createPostgresQueue, sqlOfPool } from '@ghost/queue';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { createDeliverySeed, type DeliverySeed } from '../../../test/support/delivery-seed.js';
import { addEnded } from '../../../test/support/ended-deliveries.js';
import { ghost } from '../../../test/support/ghost-cli.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { waitUntil } from '../../../test/support/wait-until.js';

let database: TestDatabase;
let seed: DeliverySeed;
let pool: Pool;
let id: string;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = database.pool();
  seed = await createDeliverySeed(database.url);
  const hookId = await seed.hook('https://receiver.example/');
  id = String(hookId);
  await addEnded(pool, hookId, { deliveries: 1_200 });
  await addEnded(pool, hookId, { deliveries: 1, event: 'comment.created', commentId: 404 });
  await addEnded(pool, hookId, { deliveries: 2, status: 'delivered', event: 'thread.closed' });
});
afterEach(async () => {
  await seed.close();
  await database.drop();
});

const hooks = (...args: string[]) => ghost(['hooks', ...args], { DATABASE_URL: database.url });

test('replay --dry-run tells what would be sent, and starts nothing', async () => {
  const dry = await hooks('replay', id, '--since', '1h', '--which', 'all', '--dry-run');
  expect(dry).toMatchObject({ code: 0, err: '' });
  const lines = dry.out.trimEnd().split('\n');
  expect(lines[0]).toMatch(
    new RegExp(`^Hook ${id} would get 1,202 deliveries again, of those that ended 2\\S+ \\S+Z to `),
  );
  expect(lines.slice(1)).toEqual([
    'By what became of them: dead 1,200, delivered 2.',
    'By event: thread.opened 1,200, thread.closed 2.',
    'Left out: comment_deleted 1.',
  ]);
  const json = await hooks('replay', id, '--since', '1h', '--dry-run', '--json');
  expect(JSON.parse(json.out)).toMatchObject({ which: 'failed', total: 1_200 });
  expect((await hooks('replays', id)).err).toBe('No replays.\n');
});

test('replay starts one, which replays lists and cancel-replay ends', async () => {
  const started = await hooks('replay', id, '--since', '1h', '--no-wait');
  expect(started.code).toBe(0);
  expect(started.err).toBe(
    `Replay 1 of hook ${id}: 1,200 deliveries. To end it: npx ghost hooks cancel-replay 1\n`,
  );
  expect(started.out).toBe('Replay 1 is running: remaining 1,200 of 1,200.\n');
  const second = await hooks('replay', id, '--since', '1h');
  expect(second).toMatchObject({ code: 1, out: '' });
  expect(second.err).toMatch(/^Replay 1 of this hook is not through: /u);
  expect((await hooks('replays', id)).out.split('\n')[1]).toMatch(
    /^1 +running +failed .* 1200 +0 +0 +0 +0 +1200 +\(command line\)$/u,
  );
  const cancelled = await hooks('cancel-replay', '1', '--json');
  expect(JSON.parse(cancelled.out)).toMatchObject({ id: 1, state: 'cancelled' });
  const actions = (await listAudit(pool)).map(({ action, actorId }) => [action, actorId]);
  expect(actions).toEqual([
    ['hook.replay_cancelled', null],
    ['hook.replay_started', null],
  ]);
});

test('replay watches until nobody can do more: here, as the hook is held', async () => {
  const watched = hooks('replay', id, '--since', '1h');
  await waitUntil(async () => (await pool.query('SELECT FROM hook_replay')).rowCount === 1, {
    what: 'the replay',
  });
  await createPostgresQueue({ pool }).hold(sqlOfPool(pool), `hook:${id}`, 'paused');
  const { code, out } = await watched;
  expect({ code, out }).toEqual({
    code: 0,
    out: 'Replay 1 is waiting: remaining 1,200 of 1,200.\nIt waits until the hook is resumed. It is paused. What is sent to it meanwhile is kept, for 7 days at most.\n',
  });
});

test.each([
  [['replay', '1'], /--since/u],
  [['replay', '1', '--since', 'yesterday'], /^--since "yesterday" is no time: use 12h or 3d/u],
  [['replay', '1', '--since', '2099-01-01'], /^"since" must be in the past\.$/mu],
  [['replay', '1', '--since', '99d'], /^"since" is too long ago: deliveries are kept for 30 days/u],
  [['replay', '1', '--since', '1h', '--which', 'some'], /failed, undelivered, all/u],
  [['replay', '99', '--since', '1h'], /^There is no hook 99\.$/mu],
  [['replay', '99', '--since', '1h', '--dry-run'], /^There is no hook 99\.$/mu],
  [['replays', '99'], /^There is no hook 99\.$/mu],
  [['cancel-replay', '99'], /^There is no replay 99\.$/mu],
])('%j fails with a message', async (args, message) => {
  const result = await hooks(...args);
  expect(result).toMatchObject({ code: 1, out: '' });
  expect(result.err).toMatch(message);
});
