import { expect, onTestFinished, test } from 'vitest';

import { runKillScenario } from '../support/kill-scenario.js';
import { createTestDatabase } from '../support/test-database.js';

const MINUTES_MS = 60_000;

test('nothing committed is lost, and nothing is sent for what did not commit, while API and delivery are killed', {
  timeout: 4 * MINUTES_MS,
}, async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const seed = Date.now() % 1_000_000;
  const report = await runKillScenario({ databaseUrl: database.url, comments: 60, kills: 6, seed });
  const summary = { seed, ...report };
  expect(summary).toMatchObject({ missing: [], uncommitted: [], differing: [], dead: 0 });
  expect(report.accepted).toBeGreaterThanOrEqual(60);
  expect(report.kills.api + report.kills.delivery).toBe(6);
  expect(report.mails.deliveries).toBe(report.committed * 3);
  expect(report.webhooks.deliveries).toBe(report.committed * 2);
  process.stderr.write(`kill test: ${JSON.stringify(summary)}\n`);
});
