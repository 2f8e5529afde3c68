import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from '@ghost/db';

import { type ApiClient, apiClient } from '../support/api-client.js';
import { freePort, startDelivery, testEnvironment } from '../support/ghost-processes.js';
import { startMailCatcher } from '../support/mail-catcher.js';
import {
  addPerson,
  type ProofRow,
  startProofApi,
  startProofDatabase,
} from '../support/proof-world.js';
import { withStops } from '../support/stops.js';
import { waitUntil } from '../support/wait-until.js';
import { startReceiver } from '../support/webhook-receiver.js';

export const name =
  'Postgres stopped for five seconds under load: nothing is lost, nobody is charged';

const BEFORE_MS = 2000;
const STOPPED_MS = 5000;
const AFTER_MS = 8000;
const BETWEEN_POSTS_MS = 20;

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const database = await startProofDatabase(stops);
    const { pool } = database;
    const [receiver, mails] = [await startReceiver(), await startMailCatcher()];
    stops.add(() => Promise.all([receiver.stop(), mails.stop()]));
    const relay = { GHOST_SMTP_URL: mails.url };
    const api = await startProofApi(stops, database.url, relay);
    const delivery = await startDelivery(await freePort(), testEnvironment(database.url, relay));
    stops.add(() => delivery.stop());
    const ada = await prepare(pool, api.url, receiver.url);

    const posting = { on: true, accepted: 0, refused: 0 };
    const poster = post(ada, posting);
    await delay(BEFORE_MS);
    await database.stop();
    await delay(STOPPED_MS);
    await database.start();
    await delay(AFTER_MS);
    posting.on = false;
    await poster;
    await waitUntil(async () => (await stateOf(pool)).open === 0, {
      timeoutMs: 60_000,
      what: 'every event and job to be finished',
    });
    const state = await stateOf(pool);
    const webhooks = receiver.requests().length;
    const caught = mails.mails().length;
    yield {
      what: 'comments answered 201, and 503 meanwhile',
      figure: `${posting.accepted}, ${posting.refused}`,
      bound: `all ${state.comments} committed ones`,
      ok: posting.accepted > 0 && posting.refused > 0 && state.comments >= posting.accepted,
    };
    yield {
      what: 'webhooks and mails of them',
      figure: `${webhooks}, ${caught}`,
      bound: `≥ ${state.comments} each`,
      ok: webhooks >= state.comments && caught >= state.comments,
    };
    yield {
      what: 'attempts charged: of an event, beyond the first of a job',
      figure: `${state.eventAttempts}, ${state.jobAttempts - 1}`,
      bound: '0, 0',
      ok: state.eventAttempts === 0 && state.jobAttempts === 1,
    };
  });
}

async function prepare(pool: Pool, apiUrl: string, hookUrl: string): Promise<ApiClient> {
  const ada = apiClient(apiUrl, await addPerson(pool, 'ada'));
  await ada.expect(201, 'POST', '/user/repos', { name: 'demo', private: false });
  await ada.expect(201, 'POST', '/repos/ada/demo/threads', { title: 'An outage', body: 'Start' });
  const hook = { config: { url: hookUrl }, events: ['comment.created'] };
  await ada.expect(201, 'POST', '/repos/ada/demo/hooks', hook);
  const brian = apiClient(apiUrl, await addPerson(pool, 'brian'));
  await brian.expect(200, 'PUT', '/repos/ada/demo/subscription', { subscribed: true });
  return ada;
}

async function post(
  author: ApiClient,
  posting: { on: boolean; accepted: number; refused: number },
): Promise<void> {
  while (posting.on) {
    const answer = await author
      .send('POST', '/repos/ada/demo/threads/1/comments', { body: 'Still here?' })
      .catch(() => undefined);
    if (answer?.status === 201) posting.accepted += 1;
    else posting.refused += 1;
    await delay(BETWEEN_POSTS_MS);
  }
}

async function stateOf(pool: Pool) {
  const { rows } = await pool.query<{
    comments: number;
    open: number;
    eventAttempts: number;
    jobAttempts: number;
  }>(
    `SELECT (SELECT count(*) FROM comment)::int AS comments,
       ((SELECT count(*) FROM outbox_progress WHERE done_at IS NULL)
         + (SELECT count(*) FROM delivery_job WHERE status = 'pending'))::int AS open,
       (SELECT max(attempts) FROM outbox_progress) AS "eventAttempts",
       (SELECT max(attempts) FROM delivery_job) AS "jobAttempts"`,
  );
  const [state] = rows;
  if (!state) throw new Error('No state');
  return state;
}
