import { expect, test } from 'vitest';

import { createMetrics } from './metrics.js';
import { createPrometheus } from './prometheus.js';

/** Metrics whose numbers are loaded late, and how often they were. */
function lateMetrics() {
  const loads = { count: 0 };
  const metrics = createMetrics(async () => {
    loads.count += 1;
    return createPrometheus(['webhook', 'email'], {
      sending: () => 0,
      inHand: () => 0,
      bytes: () => 0,
      databaseUp: () => true,
      listening: () => true,
    });
  });
  return { metrics, loads };
}

test('claims that bring nothing load nothing, and are counted when someone asks', async () => {
  const { metrics, loads } = lateMetrics();
  for (let n = 0; n < 10; n += 1) metrics.claimed('webhook', 2, 0);
  expect(loads.count).toBe(0);
  const { text, contentType } = await metrics.render();
  expect(contentType).toContain('text/plain');
  expect(text).toContain('ghost_delivery_claim_seconds_count{kind="webhook"} 10');
  metrics.claimed('webhook', 2, 3);
  expect((await metrics.render()).text).toContain(
    'ghost_delivery_claimed_jobs_total{kind="webhook"} 3',
  );
  expect(loads.count).toBe(1);
});

test('the first attempt loads what counts; all before and meanwhile is counted once', async () => {
  const { metrics, loads } = lateMetrics();
  metrics.claimed('webhook', 2, 2);
  metrics.attempted('webhook', 'delivered', 'none');
  metrics.attempted('webhook', 'delivered', 'none');
  metrics.settled(3, 2);
  expect(loads.count).toBe(1);
  const { text } = await metrics.render();
  expect(text).toContain(
    'ghost_delivery_attempts_total{kind="webhook",outcome="delivered",reason="none"} 2',
  );
  expect(text).toContain('ghost_delivery_settled_outcomes_total 2');
});

test('wakes without end do not pile up before anything else happens', () => {
  const { metrics, loads } = lateMetrics();
  for (let n = 0; n < 1000; n += 1) metrics.claimed('email', 1, 0);
  expect(loads.count).toBe(1);
});
