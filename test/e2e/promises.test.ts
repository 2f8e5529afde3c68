import { setTimeout as delay } from 'node:timers/promises';

import { explainEvent } from '@ghost/operations';
import { expect, onTestFinished, test } from 'vitest';

import type { ApiClient } from '../support/api-client.js';
import { startDelivery } from '../support/ghost-processes.js';
import { type RunningGhost, startGhost } from '../support/running-ghost.js';
import { waitUntil } from '../support/wait-until.js';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.js';

const WATCHED_IDLE_MS = 3000;

async function receiver(...args: Parameters<typeof startReceiver>): Promise<WebhookReceiver> {
  const started = await startReceiver(...args);
  onTestFinished(() => started.stop());
  return started;
}

async function repositoryOf(owner: ApiClient): Promise<void> {
  await owner.expect(201, 'POST', '/user/repos', { name: 'demo', private: false });
  await owner.expect(201, 'POST', '/repos/ada/demo/threads', { title: 'A thread', body: 'Start' });
}

function addHook(owner: ApiClient, url: string, events = ['comment.created'], active = true) {
  return owner.expect<{ id: number }>(201, 'POST', '/repos/ada/demo/hooks', {
    config: { url },
    events,
    active,
  });
}

function comment(author: ApiClient, body: string) {
  return author.expect(201, 'POST', '/repos/ada/demo/threads/1/comments', { body });
}

const commentsAt = (at: WebhookReceiver) =>
  at.requests().filter((request) => request.headers['x-ghost-event'] === 'comment.created');

test('idle costs nothing: with nothing pending no byte passes between the processes and Postgres', async () => {
  const ghost = await startGhost();
  const ada = await ghost.person('ada');
  const endpoint = await receiver();
  await repositoryOf(ada);
  await addHook(ada, endpoint.url);
  await comment(ada, 'Work first');
  await ghost.settled();

  let bytes = -1;
  await waitUntil(
    async () => {
      const before = bytes;
      bytes = ghost.proxy.bytes();
      return before === bytes;
    },
    { everyMs: 1000, timeoutMs: 20_000, what: 'the processes to come to rest' },
  );
  await delay(WATCHED_IDLE_MS);
  expect(ghost.proxy.bytes()).toBe(bytes);

  // And idle is not dead: the next comment is delivered without any poll.
  await comment(ada, 'Wake up');
  await waitUntil(() => commentsAt(endpoint).length === 2, { what: 'the second comment' });
});

test('a bad destination hurts only itself: one that hangs keeps its backlog, the others get theirs', async () => {
  const ghost = await startGhost({ GHOST_WEBHOOK_DEADLINE_MS: '10000' });
  const [ada, brian] = [await ghost.person('ada'), await ghost.person('brian')];
  await repositoryOf(ada);
  await brian.expect(200, 'PUT', '/repos/ada/demo/subscription', { subscribed: true });
  const hanging = await receiver(() => 'hang');
  const healthy = await receiver();
  await addHook(ada, hanging.url);
  await addHook(ada, healthy.url);
  const comments = 60;
  for (let n = 0; n < comments; n += 1) await comment(ada, `Comment ${n}`);
  await waitUntil(() => commentsAt(healthy).length === comments, {
    what: 'the healthy endpoint to get all',
  });
  await waitUntil(() => ghost.mails.mails().length >= comments, { what: 'the mails' });
  // Never more at once than the lane has slots.
  expect(commentsAt(hanging).length).toBeLessThanOrEqual(10);
  const { rows } = await ghost.pool.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM delivery_job WHERE status = 'pending'`,
  );
  expect(rows[0]?.n).toBeGreaterThanOrEqual(comments);
});

test('at least once, with a stable identity: a killed worker’s delivery comes again with the same id and bytes', async () => {
  const ghost = await startGhost({ GHOST_LEASE_MS: '1000' });
  const ada = await ghost.person('ada');
  await repositoryOf(ada);
  let answer: 'hang' | number = 'hang';
  // A hook without a success sends one at a time: its ping must not be in the comment's way.
  const endpoint = await receiver(({ headers }) =>
    headers['x-ghost-event'] === 'ping' ? 200 : answer,
  );
  await addHook(ada, endpoint.url, ['comment.created']);
  await comment(ada, 'Emoji 👋, 漢字, lone \ud83d, \u2028 </script>');
  await waitUntil(() => commentsAt(endpoint).length === 1, { what: 'the first try' });
  await ghost.delivery.kill9();
  answer = 200;
  await startDelivery(ghost.deliveryPort, ghost.env);
  await ghost.settled();
  const [first, second] = commentsAt(endpoint);
  expect(second?.headers['x-ghost-delivery']).toBe(first?.headers['x-ghost-delivery']);
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  expect(second?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true);
  expect(commentsAt(endpoint)).toHaveLength(2);
});

test('everything is explained: who got it, who did not and why, each attempt with its answer', async () => {
  const ghost = await startGhost();
  const [ada, brian, chika] = [
    await ghost.person('ada'),
    await ghost.person('brian'),
    await ghost.person('chika'),
  ];
  await repositoryOf(ada);
  await brian.expect(200, 'PUT', '/repos/ada/demo/subscription', { subscribed: true });
  await chika.expect(200, 'PUT', '/repos/ada/demo/subscription', {
    subscribed: false,
    ignored: true,
  });
  const answers = [500, 200];
  const endpoint = await receiver((request) =>
    request.headers['x-ghost-event'] === 'comment.created' ? (answers.shift() ?? 200) : 200,
  );
  await addHook(ada, endpoint.url);
  const other = await addHook(ada, endpoint.url, ['member.added']);
  const off = await addHook(ada, endpoint.url, ['*'], false);
  await comment(ada, 'Explain me');
  await ghost.settled();
  const explained = await explainLast(ghost, 'comment.created');
  expect(explained.consumers.map(({ state }) => state)).toEqual(['done', 'done']);
  const outcomes = explained.deliveries.map(({ kind, status, history }) => ({
    kind,
    status,
    history: history.map((line) => [line.number, line.outcome, line.status]),
  }));
  expect(outcomes).toContainEqual({
    kind: 'webhook',
    status: 'delivered',
    history: [
      [1, 'retry', 500],
      [2, 'delivered', 200],
    ],
  });
  expect(outcomes.filter(({ kind }) => kind === 'email')).toHaveLength(1);
  expect(explained.skips).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ targetKind: 'hook', targetId: other.id, reason: 'not_subscribed' }),
      expect.objectContaining({ targetKind: 'hook', targetId: off.id, reason: 'inactive' }),
      expect.objectContaining({ targetKind: 'account', reason: 'ignored' }),
    ]),
  );
});

async function explainLast(ghost: RunningGhost, type: string) {
  const { rows } = await ghost.pool.query<{ id: string }>(
    'SELECT id FROM outbox_event WHERE type = $1 ORDER BY created_at DESC LIMIT 1',
    [type],
  );
  const explained = await explainEvent(ghost.pool, rows[0]?.id ?? '');
  if (!explained) throw new Error(`No event ${type}`);
  return explained;
}
