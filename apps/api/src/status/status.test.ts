import { afterAll, beforeAll, expect, test } from 'vitest';

import { type Person, startTestApi, type TestApi } from '../../../../test/support/test-api.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

let api: TestApi;
let ada: Person;

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
});
afterAll(() => api.stop());

const metrics = async () => (await fetch(`${api.url}/metrics`)).text();

test('alive and ready, without a token', async () => {
  const alive = await fetch(`${api.url}/healthz`);
  expect([alive.status, await alive.json()]).toEqual([200, { status: 'ok' }]);
  const ready = await waitUntil(
    async () => {
      const answer = await fetch(`${api.url}/readyz`);
      return answer.status === 200 && answer.json();
    },
    { what: 'the API to be ready' },
  );
  expect(ready).toEqual({ ready: true, database: 'up', listener: 'connected' });
});

test('requests are counted by route, whatever their paths hold', async () => {
  await ada.ask('GET', '/repos/ada/one');
  await ada.ask('GET', '/repos/ada/two');
  await ada.ask('GET', '/nowhere');
  const text = await metrics();
  expect(text).toContain(
    'ghost_api_requests_total{method="GET",route="/api/repos/:owner/:repo",status="404"} 2',
  );
  expect(text).toContain('ghost_api_requests_total{method="GET",route="none",status="404"} 1');
  expect(text).toMatch(/ghost_event_loop_delay_seconds\{quantile="0\.99"\} \d/u);
  expect(text).toMatch(/ghost_resident_memory_bytes \d{7,}/u);
});

test('a blocked event loop is seen by each who asks, whoever asked before', async () => {
  const longest = async () =>
    Number(/event_loop_delay_seconds\{quantile="1"\} (\S+)/u.exec(await metrics())?.[1]);
  await longest();
  const end = performance.now() + 200;
  while (performance.now() < end);
  expect(await longest()).toBeGreaterThan(0.1);
  expect(await longest()).toBeGreaterThan(0.1);
});

test('events that wait, and those that were set aside, are counted for each consumer', async () => {
  await api.pool.query(
    `WITH event AS (
       INSERT INTO outbox_event (id, type, version, payload)
       SELECT gen_random_uuid(), 'later.type', 99, '{}' FROM generate_series(1, 3) RETURNING id
     ), numbered AS (SELECT id, row_number() OVER () AS place FROM event)
     INSERT INTO outbox_progress (event_id, consumer, set_aside_at)
     SELECT id, 'notifier', CASE WHEN place = 1 THEN now() END FROM numbered`,
  );
  const text = await metrics();
  expect(text).toContain('ghost_outbox_pending{consumer="notifier"} 2');
  expect(text).toContain('ghost_outbox_set_aside{consumer="notifier"} 1');
  expect(text).toContain('ghost_outbox_pending{consumer="webhook-fanout"} 0');
});
