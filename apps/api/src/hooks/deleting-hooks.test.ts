import { hookLane } from '@ghost/queue';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

import { startWorker } from '../../../../test/support/delivery-worker.js';
import { TEST_SECRET_KEYS } from '../../../../test/support/ghost-processes.js';
import { proveLanes } from '../../../../test/support/prove-lanes.js';
import { type Person, startTestApi, type TestApi } from '../../../../test/support/test-api.js';
import { untilFannedOut } from '../../../../test/support/until-fanned-out.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { startReceiver, type WebhookReceiver } from '../../../../test/support/webhook-receiver.js';

const ENGINE = '/repos/ada/engine';
/** What one hook has in hand at once. */
const SLOTS = 2;

let api: TestApi;
let ada: Person;

beforeAll(async () => {
  api = await startTestApi({
    env: { GHOST_ALLOW_CIDRS: '127.0.0.0/8', GHOST_SECRET_KEYS: TEST_SECRET_KEYS },
  });
  ada = await api.addPerson('ada');
  await ada.ask('POST', '/user/repos', { name: 'engine' });
});
afterAll(() => api.stop());

async function receiver(...args: Parameters<typeof startReceiver>): Promise<WebhookReceiver> {
  const started = await startReceiver(...args);
  onTestFinished(() => started.stop());
  return started;
}

async function addHook({ url }: WebhookReceiver): Promise<number> {
  const wanted = { config: { url }, events: ['thread.opened'] };
  const { id } = (await ada.ask('POST', `${ENGINE}/hooks`, wanted)).body;
  await proveLanes(api.pool, [hookLane(id)]);
  return id;
}

async function openThread(title: string): Promise<void> {
  await ada.ask('POST', `${ENGINE}/threads`, { title });
  await untilFannedOut(api.pool);
}

const titleOf = ({ body }: { body: Buffer }): string | undefined =>
  JSON.parse(body.toString()).thread?.title;

/** By title of the thread; the pings are left out. */
async function jobsOf(hookId: number): Promise<Record<string, string>> {
  const { rows } = await api.pool.query<{ title: string; became: string }>(
    `SELECT c.body::jsonb #>> '{thread,title}' AS title,
       j.status || coalesce(' ' || j.last_error, '') || ', tries ' || j.tries AS became
     FROM delivery_job j JOIN delivery_content c ON c.id = j.content_id
     WHERE j.hook_id = $1 AND j.own ->> 'event' = 'thread.opened' ORDER BY j.id`,
    [hookId],
  );
  return Object.fromEntries(rows.map((row) => [row.title, row.became]));
}

test('a hook deleted with queued, leased and retrying jobs: each ends, nothing is sent after it, others get theirs', async () => {
  const held = new Map<string, (status: number) => void>();
  const endpoint = await receiver((request) => {
    const title = titleOf(request) ?? '';
    if (title === 'fails') return 500;
    if (!title.startsWith('held')) return 200;
    return new Promise((resolve) => held.set(title, resolve));
  });
  const other = await receiver();
  const [deleted, kept] = [await addHook(endpoint), await addHook(other)];
  await startWorker(api.database.url, {
    laneSlots: SLOTS,
    retryBaseMs: 3_600_000,
    random: () => 1,
  });
  await untilFannedOut(api.pool);

  await openThread('fails');
  const isRetrying = async () => (await jobsOf(deleted))['fails'] === 'pending http_5xx, tries 1';
  await waitUntil(isRetrying, { what: 'the first failure' });
  await openThread('held, taken');
  await openThread('held, failed');
  await waitUntil(() => held.size === SLOTS, { what: 'both requests' });
  await openThread('queued');
  await openThread('queued too');

  expect((await ada.ask('DELETE', `${ENGINE}/hooks/${deleted}`)).status).toBe(204);
  await openThread('after it');
  held.get('held, taken')?.(200);
  held.get('held, failed')?.(503);

  const isOver = async () =>
    !Object.values(await jobsOf(deleted)).some((became) => became.startsWith('pending'));
  await waitUntil(isOver, { what: 'all jobs to end' });
  const cancelled = 'cancelled hook_deleted, tries';
  expect(await jobsOf(deleted)).toEqual({
    fails: `${cancelled} 1`,
    // Its answer was on the way: what it says is kept.
    'held, taken': 'delivered, tries 1',
    'held, failed': `${cancelled} 1`,
    queued: `${cancelled} 0`,
    'queued too': `${cancelled} 0`,
  });
  expect(endpoint.requests().flatMap((request) => titleOf(request) ?? [])).toEqual([
    ...['fails', 'held, taken', 'held, failed'],
  ]);
  await waitUntil(
    async () =>
      Object.values(await jobsOf(kept)).every((became) => became === 'delivered, tries 1'),
    { what: 'the other hook to get its own' },
  );
  expect(Object.keys(await jobsOf(kept))).toHaveLength(6);

  const lanes = async () => {
    const { rows } = await api.pool.query<{ lane: string }>(
      `SELECT lane FROM delivery_lane UNION SELECT lane FROM delivery_lane_key
       UNION SELECT lane FROM delivery_cancellation`,
    );
    return rows.map((row) => row.lane);
  };
  await waitUntil(async () => (await lanes()).length === 1, { what: 'the lane to go' });
  expect(await lanes()).toEqual([hookLane(kept)]);
});
