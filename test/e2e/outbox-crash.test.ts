import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { FanoutWorld } from '../support/fanout-world.js';
import { type RunningProcess, startProcess } from '../support/processes.js';
import { waitUntil } from '../support/wait-until.js';

const API = fileURLToPath(new URL('../../apps/api/dist/main.js', import.meta.url));
const POISONED_API = fileURLToPath(new URL('poisoned-api.mjs', import.meta.url));
const KILLS = 5;
/** Pages enough that no process comes to the end before it is killed. */
const READERS = 20_000;

let world: FanoutWorld;
let env: Record<string, string>;

beforeEach(async () => {
  world = await FanoutWorld.create();
  env = {
    DATABASE_URL: world.url,
    PORT: '0',
    GHOST_PUBLIC_URL: 'https://ghost.example',
    GHOST_RATE_LIMIT: '0',
    GHOST_SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
    GHOST_MAIL_FROM: 'Ghost <noreply@ghost.example>',
  };
});
afterEach(() => world.stop());

const start = (entry: string): Promise<RunningProcess> =>
  startProcess({ name: 'api', entry, env, ready: /"api\.started"|outbox\.fanned_out/u });

/** A process that dies leaves leases, which end by themselves after some seconds: here at once. */
async function endLeases(): Promise<number> {
  const { rowCount } = await world.pool.query(
    `UPDATE outbox_progress SET lease_until = now() - interval '1 ms' WHERE lease_until IS NOT NULL`,
  );
  return rowCount ?? 0;
}

async function followedPlace() {
  const place = await world.place();
  await world.watch(place, await world.account());
  await world.hook(place);
  return place;
}

describe('an event that kills the process each time', () => {
  test('is set aside for the mails alone after five starts, and takes no other event with it', async () => {
    const place = await followedPlace();
    const healthy = [await world.publishComment(place)];
    const poison = await world.publishComment(place, place.ownerId, 'poison');
    healthy.push(await world.publishComment(place), await world.publishComment(place));
    let deaths = 0;
    for (; deaths < 20; deaths += 1) {
      const api = await startProcess({ name: 'poisoned api', entry: POISONED_API, env });
      const died = api.exited.then(() => 'died' as const);
      const setAside = waitUntil(
        async () => (await world.progressOf(poison))['notifier']?.setAside === true,
        { what: 'the poison to be set aside', timeoutMs: 20_000 },
      ).catch(() => undefined);
      if ((await Promise.race([died, setAside])) === true) break;
      await endLeases();
    }
    expect(deaths).toBe(5);
    await world.untilProcessed(...healthy);
    expect(await world.progressOf(poison)).toMatchObject({
      notifier: { attempts: 5, lastError: 'its process died each time', setAside: true },
      'webhook-fanout': { done: true },
    });
    expect(await world.keysOf(poison)).toEqual([expect.stringContaining('webhook:')]);
    for (const event of healthy) expect(await world.keysOf(event)).toHaveLength(2);
  });
});

describe('a process that is killed in the middle of a huge fan-out', () => {
  test('leaves a fan-out that others end: each reader once, and none forgotten', async () => {
    const place = await world.place();
    await world.watchers(place, READERS, 3);
    await world.hook(place);
    const event = await world.publishComment(place);
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const before = await world.countJobs(event);
      const api = await start(API);
      await waitUntil(async () => (await world.countJobs(event)) > before, {
        what: `progress before kill ${kill}`,
      });
      await api.kill9();
      await endLeases();
    }
    expect((await world.progressOf(event))['notifier']).toMatchObject({ done: false });
    const last = await start(API);
    await world.untilProcessed(event);
    expect((await last.stop()).code).toBe(0);
    const { rows } = await world.pool.query<{ mails: number; readers: number; webhooks: number }>(
      `SELECT count(*) FILTER (WHERE kind = 'email')::int AS mails, count(DISTINCT account_id)::int AS readers,
         count(*) FILTER (WHERE kind = 'webhook')::int AS webhooks FROM delivery_job WHERE event_id = $1`,
      [event],
    );
    expect(rows).toEqual([{ mails: READERS, readers: READERS, webhooks: 1 }]);
  });
});
