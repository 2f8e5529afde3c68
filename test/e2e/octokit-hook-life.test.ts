import { verifyWebhook } from '@ghost/signing';
import type { Octokit } from '@octokit/rest';
import { expect, onTestFinished, test } from 'vitest';

import { SEED_KEYS } from '../support/delivery-seed.js';
import { startWorker } from '../support/delivery-worker.js';
import { freePort } from '../support/ghost-processes.js';
import { readGithubSchema } from '../support/github-schema.js';
import { recordOctokit, refusalOf } from '../support/recorded-octokit.js';
import { startTestApi } from '../support/test-api.js';
import { waitUntil } from '../support/wait-until.js';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.js';
import { explains, SHAPE_DIFFERENCES } from './github-differences.js';

// One script in the words of GitHub's API, from the first hook to none; what it is sent comes over real sockets.

const ENGINE = { owner: 'ada', repo: 'engine' };
const SECRET = 'a secret of mine';
/** Only this one may be reached: 127.0.0.1 stays refused. */
const ENDPOINT_HOST = '127.0.0.2';
const PAUSE = '/repos/{owner}/{repo}/hooks/{hook_id}/pause';

async function startAll() {
  const endpoint = await startReceiver(() => ({ status: 200, body: 'thanks' }), ENDPOINT_HOST);
  onTestFinished(() => endpoint.stop());
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const api = await startTestApi({
    env: {
      PORT: String(port),
      GHOST_PUBLIC_URL: origin,
      GHOST_SECRET_KEYS: SEED_KEYS,
      GHOST_ALLOW_CIDRS: `${ENDPOINT_HOST}/32`,
    },
  });
  onTestFinished(() => api.stop());
  await startWorker(api.database.url, { retryBaseMs: 10 });
  const recorded = recordOctokit(`${origin}/api`);
  const { token } = await api.addPerson('ada');
  return { endpoint, recorded, octokit: recorded.octokit(token) };
}

const openThread = (octokit: Octokit, title: string) =>
  octokit.request('POST /repos/{owner}/{repo}/threads', { ...ENGINE, title });

/** What came to the endpoint: each signed, and as the hook has it. */
function verified(endpoint: WebhookReceiver) {
  return endpoint.requests().map(({ headers, body }) => {
    verifyWebhook({ headers, body, secret: SECRET });
    return { id: headers['x-ghost-delivery'], event: headers['x-ghost-event'], headers, body };
  });
}

test('an Octokit script does the whole life of a hook, and every answer is as GitHub publishes it', async () => {
  const { endpoint, recorded, octokit } = await startAll();
  const { repos } = octokit;
  await repos.createForAuthenticatedUser({ name: 'engine' });
  const made = await repos.createWebhook({
    ...ENGINE,
    name: 'web',
    events: ['thread.closed'],
    config: { url: endpoint.url, content_type: 'json', secret: SECRET },
  });
  const hook = { ...ENGINE, hook_id: made.data.id };
  await endpoint.waitForRequests(1);

  const listed = await octokit.paginate(repos.listWebhooks, { ...ENGINE, per_page: 1 });
  expect(listed.map(({ id }) => id)).toEqual([hook.hook_id]);
  await waitUntil(
    async () => (await repos.getWebhook(hook)).data.last_response.status === 'active',
    { what: 'the hook to tell of its ping' },
  );
  const edited = await repos.updateWebhook({ ...hook, add_events: ['thread.opened'] });
  expect(edited.data.events).toEqual(['thread.closed', 'thread.opened']);
  const data = { url: `${endpoint.url}second`, secret: SECRET };
  await repos.updateWebhookConfigForRepo({ ...hook, data });
  const { data: config } = await repos.getWebhookConfigForRepo(hook);
  expect(config).toMatchObject({ url: `${endpoint.url}second`, secret: '********' });
  await repos.pingWebhook(hook);
  await repos.testPushWebhook(hook);
  await endpoint.waitForRequests(3);

  endpoint.setHandler(({ headers }) => (headers['x-ghost-attempt'] === '1' ? 500 : 200));
  await openThread(octokit, 'Does it run?');
  await endpoint.waitForRequests(5);
  const came = verified(endpoint);
  expect(came.map(({ event }) => event)).toEqual([
    ...Array(3).fill('ping'),
    ...Array(2).fill('thread.opened'),
  ]);
  await waitUntil(
    async () => (await repos.listWebhookDeliveries(hook)).data.length === came.length,
    { what: 'every attempt to stand in the history' },
  );
  const attempts = await octokit.paginate(repos.listWebhookDeliveries, { ...hook, per_page: 2 });
  expect(attempts.map(({ guid }) => guid)).toEqual(came.map(({ id }) => id).toReversed());
  expect(attempts.map(({ status_code: code }) => code)).toEqual([200, 500, 200, 200, 200]);
  const failed = await repos.listWebhookDeliveries({ ...hook, status: 'failure' });
  expect(failed.data.map(({ id }) => id)).toEqual([attempts[1]?.id]);

  const delivery = { ...hook, delivery_id: attempts[0]?.id ?? 0 };
  const { data: shown } = await repos.getWebhookDelivery(delivery);
  expect(shown).toMatchObject({
    ...attempts[0],
    request: {
      headers: { 'x-ghost-event': 'thread.opened', 'webhook-signature': '[redacted]' },
      payload: { event: 'thread.opened', thread: { title: 'Does it run?' } },
    },
    explanation: { attempt: 2, timings: { first_byte: expect.any(Number) } },
  });
  expect((await repos.redeliverWebhookDelivery(delivery)).status).toBe(202);
  await endpoint.waitForRequests(6);
  const again = verified(endpoint).at(-1);
  expect(again).toMatchObject({ id: shown.guid, headers: { 'x-ghost-redelivery': 'true' } });
  expect(again?.body.equals(came.at(-1)?.body ?? Buffer.alloc(0))).toBe(true);

  await octokit.request(`PUT ${PAUSE}`, hook);
  await openThread(octokit, 'While it is paused');
  const waiting = () =>
    octokit.request('GET /repos/{owner}/{repo}/hooks/{hook_id}/waiting', hook).then((a) => a.data);
  await waitUntil(async () => ((await waiting()) as unknown[]).length === 1, {
    what: 'the thread to wait',
  });
  await octokit.request(`DELETE ${PAUSE}`, hook);
  await endpoint.waitForRequests(7);
  expect(JSON.parse(verified(endpoint).at(-1)?.body.toString() ?? '')).toMatchObject({
    thread: { title: 'While it is paused' },
  });

  await repos.updateWebhook({ ...hook, active: false });
  expect((await repos.deleteWebhook(hook)).status).toBe(204);
  expect((await refusalOf(repos.getWebhook(hook))).status).toBe(404);
  expect((await refusalOf(repos.listWebhookDeliveries(hook))).status).toBe(404);
  expect(await octokit.paginate(repos.listWebhooks, ENGINE)).toEqual([]);

  const github = readGithubSchema();
  const unexplained = recorded.exchanges
    .flatMap((exchange) => github.compare(exchange))
    // Threads and pauses are Ghost's own.
    .filter(({ what }) => what !== 'route')
    .filter((finding) => !SHAPE_DIFFERENCES.some((difference) => explains(difference, finding)));
  expect(unexplained).toEqual([]);
});
