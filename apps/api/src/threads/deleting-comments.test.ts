import { retryJob } from '@ghost/operations';
import type { Queue } from '@ghost/queue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { commentPayload, FanoutWorld, type Place } from '../../../../test/support/fanout-world.js';
import { gate } from '../../../../test/support/gate.js';
import { untilBlocked } from '../../../../test/support/until-blocked.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import type { Account } from '../accounts/current-account.js';
import type { FanoutConsumer } from '../outbox/fanout-consumer.js';
import { CommentsService } from './comments.service.js';

let world: FanoutWorld;
let place: Place;
let watcher: number;
let hook: number;
const opens: (() => void)[] = [];

beforeEach(async () => {
  world = await FanoutWorld.create();
  place = await world.place();
  watcher = await world.account();
  hook = await world.hook(place);
  await world.watch(place, watcher);
});
afterEach(async () => {
  // A test that failed leaves pages waiting, which a stop would wait for.
  for (const open of opens.splice(0)) open();
  await world.stop();
});

function heldGate() {
  const made = gate();
  opens.push(() => made.open());
  return made;
}

/** Deletes the place's comment as its author does. */
async function deleteComment(beforeCommit: () => Promise<void> = () => Promise.resolve()) {
  // The last but one statement of a deletion: what it cancels is cancelled, and it is not committed.
  const queue: Queue = {
    ...world.queue,
    cancel: async (...args) => {
      const cancelled = await world.queue.cancel(...args);
      await beforeCommit();
      return cancelled;
    },
  };
  const { rows } = await world.pool.query<{ login: string; repo: string }>(
    'SELECT a.login, r.name AS repo FROM repository r JOIN account a ON a.id = r.owner_id WHERE r.id = $1',
    [place.repositoryId],
  );
  const { login = '', repo = '' } = rows[0] ?? {};
  const tokens = await world.pool.query<{ id: string }>(
    `INSERT INTO api_token (account_id, token_hash, label, scopes)
     VALUES ($1, sha256(gen_random_uuid()::text::bytea), 'test', '{repo}') RETURNING id`,
    [place.ownerId],
  );
  const account: Account = {
    id: place.ownerId,
    login,
    name: 'Owner',
    isAdmin: false,
    token: { id: Number(tokens.rows[0]?.id), scopes: ['repo'], expiresAt: null },
  };
  const comments = new CommentsService(world.db, world.pool, queue, world.settings);
  const path = { owner: login, repo, id: place.commentId ?? 0 };
  await comments.remove(account, path, () => undefined);
}

async function jobsOf(event: string): Promise<Record<string, string>> {
  const { rows } = await world.pool.query<{ kind: string; status: string }>(
    'SELECT kind, status FROM delivery_job WHERE event_id = $1',
    [event],
  );
  return Object.fromEntries(rows.map(({ kind, status }) => [kind, status]));
}

const publishEdit = () =>
  world.publish({
    type: 'comment.edited',
    repositoryId: place.repositoryId,
    payload: commentPayload(place, place.ownerId, 'Better.'),
  });

/** What waits a moment for another lock on the way there does not count. */
const untilWaitsFor = (text: string) =>
  waitUntil(async () => (await untilBlocked(world.pool)).includes(text), {
    what: `a statement with "${text}" to wait`,
  });

describe('the text of a comment that is deleted is sent to nobody', () => {
  test.each(['notifier', 'webhooks'] as const)(
    'when a page of the %s that saw it is open: the deletion waits, and cancels',
    async (consumer) => {
      const seen = heldGate();
      const commit = heldGate();
      const open: FanoutConsumer = {
        page: async (tx, event, cursor) => {
          const page = await world[consumer].page(tx, event, cursor);
          if (event.type === 'comment.created') {
            seen.open();
            await commit.opened;
          }
          return page;
        },
      };
      await world.startOutbox({ [consumer]: open });
      const event = await world.publishComment(place);
      await seen.opened;
      let deleted = false;
      const deletion = deleteComment().then(() => {
        deleted = true;
      });
      await untilWaitsFor('for no key update');
      expect(deleted).toBe(false);
      commit.open();
      await deletion;
      await world.untilProcessed(event);
      expect(await jobsOf(event)).toEqual({ email: 'cancelled', webhook: 'cancelled' });
    },
  );

  test('when its deletion is open: pages wait, and leave out whoever was to hear', async () => {
    const created = await world.publishComment(place);
    const edited = await publishEdit();
    const other = await world.hook(place, { events: ['thread.opened'] });
    const deleting = heldGate();
    const commit = heldGate();
    const deletion = deleteComment(async () => {
      deleting.open();
      await commit.opened;
    });
    await deleting.opened;
    await world.startOutbox();
    await untilWaitsFor('FOR SHARE');
    expect(await jobsOf(created)).toEqual({});
    commit.open();
    await deletion;
    await world.untilProcessed(created, edited);
    expect({ ...(await jobsOf(created)), ...(await jobsOf(edited)) }).toEqual({});
    expect(await world.skipsOf(created)).toEqual({
      [`account:${watcher}`]: 'comment_deleted',
      [`hook:${hook}`]: 'comment_deleted',
      [`hook:${other}`]: 'not_subscribed',
    });
    expect(await world.skipsOf(edited)).toMatchObject({ [`hook:${hook}`]: 'comment_deleted' });
  });

  test('and that it is deleted is sent to hooks', async () => {
    await deleteComment();
    await world.startOutbox();
    const { rows } = await world.pool.query<{ id: string }>(
      `SELECT id FROM outbox_event WHERE type = 'comment.deleted'`,
    );
    const event = String(rows[0]?.id);
    await world.untilProcessed(event);
    expect(await jobsOf(event)).toEqual({ webhook: 'pending' });
  });
});

describe('an operator who asks for it again', () => {
  /** The jobs of the comment's event, delivered. */
  async function delivered(): Promise<string[]> {
    const event = await world.publishComment(place);
    await world.startOutbox();
    await world.untilProcessed(event);
    const { rows } = await world.pool.query<{ id: string }>(
      `UPDATE delivery_job SET status = 'delivered', finished_at = now() WHERE event_id = $1 RETURNING id`,
      [event],
    );
    expect(rows).toHaveLength(2);
    return rows.map(({ id }) => id);
  }

  test('gets nothing sent that was cancelled with the comment', async () => {
    const event = await world.publishComment(place);
    await world.startOutbox();
    await world.untilProcessed(event);
    await deleteComment();
    const { rows } = await world.pool.query<{ id: string }>(
      'SELECT id FROM delivery_job WHERE event_id = $1',
      [event],
    );
    for (const { id } of rows) {
      expect(await retryJob(world.pool, world.queue, id)).toEqual({
        result: 'refused',
        jobId: id,
        reason: 'its comment was deleted',
      });
    }
    expect(await jobsOf(event)).toEqual({ email: 'cancelled', webhook: 'cancelled' });
  });

  test('gets nothing sent again that was delivered before the deletion', async () => {
    const ids = await delivered();
    await deleteComment();
    for (const id of ids) {
      expect(await retryJob(world.pool, world.queue, id)).toMatchObject({
        result: 'refused',
        reason: 'its comment was deleted',
      });
    }
  });

  test('while the deletion is open waits for it, and is refused', async () => {
    const ids = await delivered();
    const deleting = heldGate();
    const commit = heldGate();
    const deletion = deleteComment(async () => {
      deleting.open();
      await commit.opened;
    });
    await deleting.opened;
    const retries = ids.map((id) => retryJob(world.pool, world.queue, id));
    await untilBlocked(world.pool);
    commit.open();
    await deletion;
    for (const retried of await Promise.all(retries)) {
      expect(retried).toMatchObject({ result: 'refused', reason: 'its comment was deleted' });
    }
  });

  test('before the deletion has it wait, and cancel what was asked for', async () => {
    const ids = await delivered();
    const asked = heldGate();
    const commit = heldGate();
    const queue: Queue = {
      ...world.queue,
      redeliver: async (...args) => {
        const again = await world.queue.redeliver(...args);
        asked.open();
        await commit.opened;
        return again;
      },
    };
    const { rows } = await world.pool.query<{ id: string }>(
      `SELECT id FROM delivery_job WHERE id = ANY ($1::uuid[]) AND kind = 'webhook'`,
      [ids],
    );
    const id = String(rows[0]?.id);
    const retry = retryJob(world.pool, queue, id);
    await asked.opened;
    const deletion = deleteComment();
    await untilBlocked(world.pool);
    commit.open();
    expect(await retry).toMatchObject({ result: 'done' });
    await deletion;
    const { rows: after } = await world.pool.query(
      'SELECT status, last_error FROM delivery_job WHERE id = $1',
      [id],
    );
    expect(after).toEqual([{ status: 'cancelled', last_error: 'comment_deleted' }]);
  });
});
