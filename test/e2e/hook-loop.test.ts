import { expect, onTestFinished, test } from 'vitest';

import { SEED_KEYS } from '../support/delivery-seed.js';
import { startWorker } from '../support/delivery-worker.js';
import { type Json, startTestApi } from '../support/test-api.js';
import { waitUntil } from '../support/wait-until.js';
import { type ReceiverHandler, startReceiver } from '../support/webhook-receiver.js';

const ENGINE = '/repos/ada/engine';
const ENDPOINT_HOST = '127.0.0.2';

async function endpointOf(handler?: ReceiverHandler) {
  const endpoint = await startReceiver(handler, ENDPOINT_HOST);
  onTestFinished(() => endpoint.stop());
  return endpoint;
}

test('an endpoint that comments on every comment, and passes the chain on, comments once', async () => {
  const api = await startTestApi({
    env: { GHOST_SECRET_KEYS: SEED_KEYS, GHOST_ALLOW_CIDRS: `${ENDPOINT_HOST}/32` },
  });
  onTestFinished(() => api.stop());
  await startWorker(api.database.url);
  const [ada, robot] = [await api.addPerson('ada'), await api.addPerson('robot')];
  await ada.ask('POST', '/user/repos', { name: 'engine', private: false });
  const comments = `${ENGINE}/threads/1/comments`;
  const commenting = await endpointOf(async ({ headers, body }) => {
    const { thread }: Json = JSON.parse(body.toString('utf8'));
    if (headers['x-ghost-event'] !== 'comment.created' || thread.number !== 1) return 200;
    const chain = { 'x-ghost-chain': String(headers['x-ghost-chain']) };
    await robot.ask('POST', comments, { body: 'I saw that.' }, chain);
    return 200;
  });
  const listening = await endpointOf();
  const hooks: number[] = [];
  for (const { url } of [commenting, listening]) {
    const wanted = { config: { url }, events: ['comment.created'] };
    hooks.push((await ada.ask('POST', `${ENGINE}/hooks`, wanted)).body.id);
  }
  await ada.ask('POST', `${ENGINE}/threads`, { title: 'A thread' });
  await ada.ask('POST', comments, { body: 'Hello' });

  // The ping, and both comments; the other hook is told of the robot's too.
  await listening.waitForRequests(3);
  const skipped = () => ada.ask('GET', `${ENGINE}/hooks/${hooks[0]}/skipped`);
  const left = await waitUntil(
    async () => {
      const found = (await skipped()).body.filter(({ event }: Json) => event === 'comment.created');
      return found.length > 0 ? found : undefined;
    },
    { what: 'the comment that is not sent back' },
  );
  expect(left).toMatchObject([{ event: 'comment.created', reason: 'recursion' }]);
  expect((await ada.ask('GET', comments)).body.map(({ body }: Json) => body)).toEqual([
    'Hello',
    'I saw that.',
  ]);
  expect(commenting.requests().map(({ headers }) => headers['x-ghost-event'])).toEqual([
    'ping',
    'comment.created',
  ]);
});
