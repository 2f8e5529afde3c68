import type { Pool } from '@ghost/db';
import { createPostgresQueue, hookLane, type Queue, sqlOfPool } from '@ghost/queue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { CAPACITY, createJobScene, DONE, settleAll } from '../../../test/support/job-scene.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { queueStatus } from './status.js';

let database: TestDatabase;
let pool: Pool;
let queue: Queue;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = database.pool(4);
  queue = createPostgresQueue({ pool });
});
afterEach(() => database.drop());

describe('queueStatus', () => {
  test('counts what waits for what', async () => {
    const { hookId } = await createJobScene(pool);
    await queue.hold(sqlOfPool(pool), hookLane(hookId), 'paused by its owner');
    await settleAll(queue, await queue.claim({ kind: 'email', ...CAPACITY }), DONE);
    expect(await queueStatus(pool)).toMatchObject({
      counts: [
        { kind: 'email', status: 'delivered', waiting: null, jobs: 1 },
        { kind: 'webhook', status: 'pending', waiting: 'held', jobs: 1 },
      ],
      heldLanes: [{ lane: hookLane(hookId), reason: 'paused by its owner', jobs: 1 }],
      relayPausedUntil: null,
      outbox: { pending: 2, setAside: 0 },
    });
  });

  test('tells that the relay rests and why', async () => {
    await queue.pauseRelay('auth_refused', [60_000]);
    const status = await queueStatus(pool);
    expect(status.relayReason).toBe('auth_refused');
    expect(status.relayPausedUntil?.getTime()).toBeGreaterThan(0);
  });
});
