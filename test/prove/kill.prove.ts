import { runKillScenario } from '../support/kill-scenario.js';
import { createTestDatabase } from '../support/test-database.js';
import { startTestServer } from '../support/test-server.js';

export const name = 'Killed 20 times at random, nothing committed is lost and nothing else is sent';

const COMMENTS = 500;
const KILLS = 20;

export async function* run() {
  const server = await startTestServer();
  try {
    const database = await createTestDatabase(server);
    const report = await runKillScenario({
      databaseUrl: database.url,
      comments: COMMENTS,
      kills: KILLS,
      seed: Date.now() % 1_000_000,
      onProgress: (line) => process.stderr.write(`  ${line}\n`),
    });
    const { accepted, committed, kills, missing, uncommitted, differing, webhooks, mails } = report;
    yield {
      what: 'SIGKILLs of API and of delivery',
      figure: `${kills.api} + ${kills.delivery}`,
      bound: String(KILLS),
      ok: kills.api + kills.delivery === KILLS,
    };
    yield {
      what: 'comments answered 201 (committed)',
      figure: `${accepted} (${committed})`,
      bound: String(COMMENTS),
      ok: accepted >= COMMENTS && committed >= accepted,
    };
    yield {
      what: 'mails or webhooks missing of committed comments',
      figure: missing.length === 0 ? '0' : `${missing.length}: ${missing.slice(0, 3).join('; ')}`,
      bound: '0',
      ok: missing.length === 0,
    };
    yield {
      what: 'sent for what did not commit',
      figure: String(uncommitted.length),
      bound: '0',
      ok: uncommitted.length === 0,
    };
    yield {
      what: 'repeats with another id or other bytes',
      figure:
        differing.length === 0 ? '0' : `${differing.length}: ${differing.slice(0, 3).join('; ')}`,
      bound: '0',
      ok: differing.length === 0,
    };
    yield {
      what: 'webhooks: deliveries, requests, repeats after a success',
      figure: `${webhooks.deliveries}, ${webhooks.requests}, ${webhooks.repeatsAfterSuccess}`,
      bound: `${committed * 2} deliveries`,
      ok: webhooks.deliveries === committed * 2,
    };
    yield {
      what: 'mails: deliveries, messages, repeats',
      figure: `${mails.deliveries}, ${mails.messages}, ${mails.repeats}`,
      bound: `${committed * 3} deliveries`,
      ok: mails.deliveries === committed * 3,
    };
    await database.drop();
  } finally {
    await server.stop();
  }
}
