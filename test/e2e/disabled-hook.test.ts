import { inTransaction, type Pool, publishEvent } from '@ghost/db';
import { addAccount } from '@ghost/operations';
import { expect, onTestFinished, test } from 'vitest';

import { commentPayload } from '../support/fanout-world.js';
import { type RunningGhost, startGhost } from '../support/running-ghost.js';
import type { Json } from '../support/test-api.js';
import { untilFannedOut } from '../support/until-fanned-out.js';
import { waitUntil } from '../support/wait-until.js';
import { startReceiver } from '../support/webhook-receiver.js';

const EVENT = 'member.added';
const EVENTS = 500;
/** Three days, played fast. */
const PERIOD_MS = 200;
const REPOSITORY = '/repos/ada/engine';

type Ask = (method: string, path: string, body?: unknown) => Promise<{ body: Json; next: string }>;

/** A client of the API that says where the next page is. */
async function clientOf(ghost: RunningGhost): Promise<Ask> {
  const { token } = await addAccount(ghost.pool, { login: 'ada', email: 'ada@people.example' });
  return async (method, path, body) => {
    const answer = await fetch(path.startsWith('/') ? `${ghost.apiUrl}/api${path}` : path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    const next = /<([^>]+)>; rel="next"/u.exec(answer.headers.get('link') ?? '')?.[1] ?? '';
    return { body: text === '' ? undefined : JSON.parse(text), next };
  };
}

test('a hook that fails for long is warned of and disabled by mail; 500 events are kept, and sent once resumed', async () => {
  const receiver = await startReceiver(() => 500);
  onTestFinished(() => receiver.stop());
  // What failed is not tried again while this lasts: each ping is one fault.
  const ghost = await startGhost({
    GHOST_HOOK_DISABLE_AFTER_MS: String(PERIOD_MS),
    GHOST_RETRY_BASE_MS: '3600000',
    GHOST_RETRY_CAP_MS: '3600000',
  });
  const ask = await clientOf(ghost);
  await ask('POST', '/user/repos', { name: 'engine' });
  const config = { url: `${receiver.url}secret-path`, content_type: 'json' };
  const { body: made } = await ask('POST', `${REPOSITORY}/hooks`, { config });
  const hook = `${REPOSITORY}/hooks/${made.id}`;

  const laneIs = (state: string) =>
    waitUntil(
      async () => {
        const { rows } = await ghost.pool.query<{ is: boolean }>(
          `SELECT ${state} AS is FROM delivery_lane WHERE lane = $1`,
          [`hook:${made.id}`],
        );
        return rows[0]?.is === true;
      },
      { what: state },
    );
  const half = `now() - interval '${PERIOD_MS / 2} milliseconds'`;
  await laneIs(`failing_since <= ${half}`);
  await ask('POST', `${hook}/pings`);
  await laneIs('warned_at >= failing_since');
  await laneIs(`warned_at <= ${half}`);
  expect((await ask('GET', hook)).body.held).toBeNull();
  await ask('POST', `${hook}/pings`);
  await laneIs(`held_reason = 'disabled'`);

  await waitUntil(() => ghost.mails.mails().length >= 2, { what: 'both mails' });
  const mails = ghost.mails.mails().map(({ envelope, raw }) => {
    expect(envelope.to).toEqual(['ada@people.example']);
    expect(raw.toString('utf8')).not.toContain('secret-path');
    return /^subject: (.*)\r$/imu.exec(raw.toString('utf8').replaceAll(/\r\n[ \t]/gu, ' '))?.[1];
  });
  expect(mails).toEqual([
    expect.stringMatching(/is failing$/u),
    expect.stringMatching(/was disabled$/u),
  ]);

  const before = receiver.requests().length;
  await publishEvents(ghost.pool, EVENTS);
  await untilFannedOut(ghost.pool, 30_000);
  const kept = await keptOf(ask, hook);
  expect(kept).toHaveLength(EVENTS);
  for (const { next } of kept) {
    expect(next).toEqual({
      at: null,
      message: expect.stringMatching(/^It waits until the hook is resumed, till .* disabled/u),
    });
  }
  const { body: held } = await ask('GET', hook);
  expect(held.held).toMatchObject({ code: 'disabled', full: false });
  expect(held.held.kept).toBeGreaterThanOrEqual(EVENTS);
  expect(receiver.requests()).toHaveLength(before);

  receiver.setHandler(() => 200);
  expect((await ask('DELETE', `${hook}/pause`)).body).toMatchObject({
    held: null,
    failing_since: null,
  });
  const came = () =>
    receiver
      .requests()
      .slice(before)
      .filter(({ headers }) => headers['x-ghost-event'] === EVENT);
  await waitUntil(() => came().length >= EVENTS, { what: 'all that was kept', timeoutMs: 30_000 });
  await waitUntil(async () => (await keptOf(ask, hook)).length === 0, { what: 'the last to end' });
  const guids = came().map(({ headers }) => headers['x-ghost-delivery']);
  // Each once.
  expect(guids).toHaveLength(EVENTS);
  expect(new Set(guids)).toEqual(new Set(kept.map(({ guid }) => guid)));
  expect(ghost.mails.mails()).toHaveLength(2);

  // One answer is enough to say that it is gone for good.
  receiver.setHandler(() => 410);
  await ask('POST', `${hook}/pings`);
  await waitUntil(() => ghost.mails.mails().length > 2, { what: 'the mail about the 410' });
  const [mail] = ghost.mails.mails().slice(2);
  expect(mail?.raw.toString('utf8')).toContain('410 Gone');
  expect((await ask('GET', hook)).body.held).toMatchObject({ code: 'gone' });
});

/** Somebody is made a member, time and again. */
async function publishEvents(pool: Pool, count: number): Promise<void> {
  const { rows } = await pool.query<{ id: string; owner_id: string }>(
    'SELECT id, owner_id FROM repository',
  );
  const [repositoryId, ownerId] = [Number(rows[0]?.id), Number(rows[0]?.owner_id)];
  const { repository, sender } = commentPayload(
    { repositoryId, ownerId, threadId: 1 },
    ownerId,
    '',
  );
  const payload = { repository, sender, member: sender };
  await inTransaction(pool, async (tx) => {
    for (let made = 0; made < count; made += 1) {
      await publishEvent(tx, { type: EVENT, repositoryId, payload });
    }
  });
}

/** What waits but the pings, of all pages. */
async function keptOf(ask: Ask, hook: string): Promise<Json[]> {
  const all: Json[] = [];
  for (let page = `${hook}/waiting?per_page=100`; page !== ''; ) {
    const { body, next } = await ask('GET', page);
    all.push(...body);
    page = next;
  }
  return all.filter(({ event }) => event === EVENT);
}
