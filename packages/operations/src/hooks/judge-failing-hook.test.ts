import type { Pool } from '@ghost/db';
import { createPostgresQueue, hookLane, type Queue, sqlOfPool } from '@ghost/queue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import {
  createDeliverySeed,
  type DeliverySeed,
  keyRing,
} from '../../../../test/support/delivery-seed.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import { listAudit } from '../audit.js';
import { type EndpointFault, findFailingHooks } from './find-failing-hooks.js';
import { judgeFailingHook } from './judge-failing-hook.js';
import {
  changeHookAsOperator,
  resumeHookAsOperator,
  rotateSecretAsOperator,
} from './operate-hook.js';

const HOUR_MS = 3_600_000;
const PERIOD_MS = 72 * HOUR_MS;

let database: TestDatabase;
let seed: DeliverySeed;
let pool: Pool;
let queue: Queue;
let hookId: number;

beforeEach(async () => {
  database = await createTestDatabase();
  seed = await createDeliverySeed(database.url);
  pool = database.pool(10);
  queue = createPostgresQueue({ pool });
  hookId = await seed.hook('https://receiver.example/path?token=T');
  await seed.webhooks([hookId]);
});
afterEach(async () => {
  await seed.close();
  await database.drop();
});

const fault = (of = hookId, doubtful = false): EndpointFault => ({
  hookId: of,
  reason: 'http_5xx',
  message: 'The endpoint answered 500.',
  status: 500,
  doubtful,
  held: false,
});
const judge = () => judgeFailingHook(pool, queue, fault(), PERIOD_MS);
const find = (...faults: EndpointFault[]) => findFailingHooks(sqlOfPool(pool), faults, PERIOD_MS);

/** Moves the clock of a lane: hours ago, or null. */
async function lane(
  at: { failing?: number | null; warned?: number; success?: number; host?: string },
  of = hookId,
): Promise<void> {
  const columns = {
    failing: 'failing_since',
    warned: 'warned_at',
    success: 'last_success_at',
  } as const;
  for (const [name, column] of Object.entries(columns)) {
    const hours = at[name as keyof typeof columns];
    if (hours === undefined) continue;
    await pool.query(
      `UPDATE delivery_lane SET ${column} = now() - $2 * interval '1 hour' WHERE lane = $1`,
      [hookLane(of), hours],
    );
  }
  if (at.host !== undefined) {
    await pool.query('UPDATE delivery_lane SET host = $2 WHERE lane = $1', [hookLane(of), at.host]);
  }
}

async function heldReason(): Promise<string | null> {
  const { rows } = await pool.query<{ held_reason: string | null }>(
    'SELECT held_reason FROM delivery_lane WHERE lane = $1',
    [hookLane(hookId)],
  );
  return rows[0]?.held_reason ?? null;
}

/** What was published, and what the audit has; both in their order. */
async function told(): Promise<{ events: string[]; lines: unknown[] }> {
  const { rows } = await pool.query<{ type: string }>(
    `SELECT e.type FROM outbox_event e JOIN outbox_progress p ON p.event_id = e.id AND p.consumer = 'notifier'
     WHERE e.type LIKE 'hook.%' ORDER BY e.id`,
  );
  const lines = (await listAudit(pool)).reverse();
  return {
    events: rows.map(({ type }) => type),
    lines: lines.map(({ action, actor, actorId }) => [action, actor, actorId]),
  };
}

const line = (action: string) => [action, '(delivery)', null];

describe('a hook that fails', () => {
  test('is nobody’s business before half the period', async () => {
    await lane({ failing: 35.9 });
    expect(await find(fault())).toEqual([]);
    expect(await judge()).toBeNull();
    expect(await told()).toEqual({ events: [], lines: [] });
  });

  test('is warned of once at half the period, and disabled once half a period later', async () => {
    await lane({ failing: 36.1 });
    expect(await find(fault())).toEqual([hookId]);
    expect(await judge()).toBe('warned');
    expect(await find(fault())).toEqual([]);
    expect(await judge()).toBeNull();

    await lane({ failing: 72.1, warned: 35.9 });
    expect(await find(fault())).toEqual([]);
    expect(await judge()).toBeNull();
    expect(await heldReason()).toBeNull();

    await lane({ warned: 36.1 });
    expect(await find(fault())).toEqual([hookId]);
    expect(await judge()).toBe('disabled');
    expect(await heldReason()).toBe('disabled');
    expect(await find(fault())).toEqual([]);
    expect(await judge()).toBeNull();
    expect(await told()).toEqual({
      events: ['hook.failing', 'hook.disabled'],
      lines: [line('hook.failing'), line('hook.disabled')],
    });
  });

  test('is disabled only half a period after the warning, however long nothing was tried', async () => {
    await lane({ failing: 24 * 30 });
    expect(await judge()).toBe('warned');
    expect(await judge()).toBeNull();
    expect(await heldReason()).toBeNull();
  });

  test('is warned of anew in a new streak', async () => {
    await lane({ failing: 40, warned: 50 });
    expect(await find(fault())).toEqual([hookId]);
    expect(await judge()).toBe('warned');
    // A success.
    await lane({ failing: null, warned: 40 });
    expect(await find(fault())).toEqual([]);
    expect(await judge()).toBeNull();
  });

  test('is told of once by ten that look at the same time', async () => {
    await lane({ failing: 36.1 });
    const warned = await Promise.all(Array.from({ length: 10 }, judge));
    expect(warned.filter((step) => step !== null)).toEqual(['warned']);
    await lane({ failing: 73, warned: 36.1 });
    const disabled = await Promise.all(Array.from({ length: 10 }, judge));
    expect(disabled.filter((step) => step !== null)).toEqual(['disabled']);
    expect((await told()).events).toEqual(['hook.failing', 'hook.disabled']);
  });

  test.each([
    ['warned', 'hook.failing', {}],
    ['disabled', 'hook.disabled', { warned: 36.1 }],
  ])('is %s once, on whatever statement a process dies before', async (step, event, at) => {
    await lane({ failing: 73, ...at });
    let died = 0;
    for (let statements = 0; ; statements += 1) {
      const done = await judgeFailingHook(dyingAfter(statements), queue, fault(), PERIOD_MS).catch(
        () => 'died',
      );
      if (done !== 'died') {
        expect(done).toBe(step);
        break;
      }
      died += 1;
      expect(await told()).toEqual({ events: [], lines: [] });
      expect(await heldReason()).toBeNull();
    }
    // BEGIN, locks, reads, the change, the line, the event, COMMIT.
    expect(died).toBeGreaterThan(7);
    expect(await told()).toEqual({ events: [event], lines: [line(event)] });
  });

  test('is left alone while it is held, inactive or deleted', async () => {
    await lane({ failing: 100, warned: 50 });
    await queue.hold(sqlOfPool(pool), hookLane(hookId), 'paused');
    expect(await find(fault())).toEqual([]);
    expect(await judge()).toBeNull();
    expect(await heldReason()).toBe('paused');
    await queue.resume(sqlOfPool(pool), hookLane(hookId));
    await lane({ failing: 100, warned: 50 });
    await pool.query('UPDATE hook SET active = false');
    expect(await find(fault())).toEqual([]);
    expect(await judge()).toBeNull();
    await pool.query('DELETE FROM hook');
    expect(await find(fault())).toEqual([]);
    expect(await judge()).toBeNull();
    expect((await told()).events).toEqual([]);
  });

  test('is told of with its origin alone, what failed, and when', async () => {
    await lane({ failing: 36.1 });
    await judge();
    const { rows } = await pool.query<{ payload: Record<string, unknown> }>(
      `SELECT payload FROM outbox_event WHERE type = 'hook.failing'`,
    );
    const payload = rows[0]?.payload;
    expect(payload).toMatchObject({
      repository: { owner: 'ghost', name: 'core', full_name: 'ghost/core' },
      hook: { id: hookId, url: 'https://receiver.example', events: ['*'], active: true },
      reason: 'http_5xx',
      message: 'The endpoint answered 500.',
      status: 500,
    });
    const at = (name: string) => Date.parse(String(payload?.[name]));
    expect((at('disables_at') - at('failing_since')) / HOUR_MS).toBeCloseTo(72.1, 2);
    expect(JSON.stringify([payload, await listAudit(pool)])).not.toMatch(/path|token=/u);
  });
});

describe('a hook that an attempt held', () => {
  const gone: EndpointFault = {
    hookId: 0,
    reason: 'gone',
    message: 'The endpoint answered 410 Gone.',
    status: 410,
    doubtful: false,
    held: true,
  };
  const tell = () => judgeFailingHook(pool, queue, { ...gone, hookId }, PERIOD_MS);
  const hold = (reason: string) => queue.hold(sqlOfPool(pool), hookLane(hookId), reason);

  test('is told of once a hold, however many say so', async () => {
    await hold('gone');
    const steps = await Promise.all(Array.from({ length: 10 }, tell));
    expect(steps.filter((step) => step !== null)).toEqual(['disabled']);
    expect(await told()).toEqual({ events: ['hook.disabled'], lines: [line('hook.disabled')] });
    await queue.resume(sqlOfPool(pool), hookLane(hookId));
    expect(await tell()).toBeNull();
    await hold('gone');
    expect(await tell()).toBe('disabled');
    const { rows } = await pool.query<{ payload: object }>(
      `SELECT payload FROM outbox_event WHERE type = 'hook.disabled' ORDER BY id`,
    );
    expect(rows).toHaveLength(2);
    expect(rows[0]?.payload).toMatchObject({ held: 'gone', reason: 'gone', status: 410 });
  });

  test('is not told of where it is held for another reason by now', async () => {
    await hold('paused');
    expect(await tell()).toBeNull();
    expect((await told()).events).toEqual([]);
  });
});

describe('the period begins anew', () => {
  beforeEach(() => lane({ failing: 100, warned: 50 }));

  test('when a disabled hook is resumed', async () => {
    expect(await judge()).toBe('disabled');
    await resumeHookAsOperator(pool, queue, hookId);
    expect(await judge()).toBeNull();
    expect(await heldReason()).toBeNull();
  });

  test('when somebody mends what may be at fault', async () => {
    await changeHookAsOperator(pool, queue, keyRing(), hookId, { url: 'https://other.example/' });
    expect(await judge()).toBeNull();
    await lane({ failing: 100, warned: 50 });
    await rotateSecretAsOperator(pool, keyRing(), hookId, { secret: null, overlapHours: 0 });
    expect(await judge()).toBeNull();
  });

  test('not by another choice of events', async () => {
    await changeHookAsOperator(pool, queue, keyRing(), hookId, { events: ['thread.opened'] });
    expect(await judge()).toBe('disabled');
  });
});

describe('a fault that may be our own network’s', () => {
  let other: number;
  const doubted = () => find(fault(hookId, true));

  beforeEach(async () => {
    other = await seed.hook('https://other.example/');
    await seed.webhooks([other]);
    await lane({ failing: 40, host: 'receiver.example', success: 41 });
    await lane({ failing: 40, host: 'other.example', success: 41 }, other);
  });

  test('counts for nobody while nothing gets through to any host', async () => {
    expect(await doubted()).toEqual([]);
    // What an endpoint answered is no fault of the network.
    expect(await find(fault())).toEqual([hookId]);
  });

  test('counts as soon as a webhook got through within half the period', async () => {
    await lane({ failing: null, success: 1 }, other);
    expect(await doubted()).toEqual([hookId]);
  });

  test('counts where no other host is tried, as there is nothing to compare with', async () => {
    await lane({ host: 'receiver.example' }, other);
    expect(await doubted()).toEqual([hookId]);
    await lane({ host: 'other.example' }, other);
    await pool.query(`UPDATE delivery_lane SET next_at = 'infinity' WHERE lane = $1`, [
      hookLane(other),
    ]);
    expect(await doubted()).toEqual([hookId]);
  });
});

/** The pool of a process that dies before the statement after so many. */
function dyingAfter(statements: number): Pool {
  const dying = Object.create(pool) as Pool;
  const connect = async () => {
    const client = await pool.connect();
    let left = statements;
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
    return Object.assign(Object.create(client) as typeof client, {
      query: (...args: unknown[]) => {
        if (left === 0) return Promise.reject(new Error('died'));
        left -= 1;
        return query(...args);
      },
      release: () => client.release(true),
    });
  };
  return Object.assign(dying, { connect });
}
