import type { EventPayload } from '@ghost/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { commentPayload, FanoutWorld, type Place } from '../../../../test/support/fanout-world.js';
import type { FanoutEvent, FanoutPage } from '../outbox/fanout-consumer.js';
import { webhookBody } from './webhook-body.js';

const NOW = new Date('2026-01-02T03:04:05Z');

let world: FanoutWorld;

beforeAll(async () => {
  world = await FanoutWorld.create();
});
afterAll(() => world.stop());

async function commentEvent(place: Place, body = 'Hello.'): Promise<FanoutEvent> {
  const id = await world.publishComment(place);
  const { repositoryId } = place;
  const payload = commentPayload(place, place.ownerId, body);
  return { id, type: 'comment.created', version: 1, repositoryId, payload, createdAt: NOW };
}

const page = (event: FanoutEvent, cursor: string | null = null): Promise<FanoutPage> =>
  world.db.transaction((tx) => world.webhooks.page(tx, event, cursor));

const hooksOf = ({ jobs }: FanoutPage) =>
  jobs.map((job) => (job.kind === 'webhook' ? job.hookId : Number.NaN)).sort((a, b) => a - b);
const skipsOf = ({ skips }: FanoutPage) =>
  Object.fromEntries(skips.map((skip) => [skip.targetId, skip.reason]));

async function bodyOf(event: FanoutEvent): Promise<string | undefined> {
  const { rows } = await world.pool.query<{ body: string }>(
    'SELECT body FROM delivery_content WHERE event_id = $1',
    [event.id],
  );
  return rows[0]?.body;
}

describe('which hooks get an event', () => {
  test('the active ones of its repository that asked for its type or for all; the others are recorded', async () => {
    const place = await world.place();
    const elsewhere = await world.hook(await world.place());
    const all = await world.hook(place, { events: ['*'] });
    const asked = await world.hook(place, { events: ['thread.opened', 'comment.created'] });
    const other = await world.hook(place, { events: ['thread.opened'] });
    const inactive = await world.hook(place, { active: false });
    const made = await page(await commentEvent(place));
    expect(hooksOf(made)).toEqual([all, asked]);
    expect(skipsOf(made)).toEqual({ [other]: 'not_subscribed', [inactive]: 'inactive' });
    expect(JSON.stringify(made)).not.toContain(`hook:${elsewhere}"`);
  });

  test('a ping is for its own hook alone, whatever it asked for', async () => {
    const place = await world.place();
    await world.hook(place);
    const pinged = await world.hook(place, { events: ['thread.opened'] });
    expect(hooksOf(await page(await pingOf(place, pinged)))).toEqual([pinged]);
    const inactive = await world.hook(place, { active: false });
    const skipped = await page(await pingOf(place, inactive));
    expect(skipped).toMatchObject({ jobs: [], cursor: null });
    expect(skipsOf(skipped)).toEqual({ [inactive]: 'inactive' });
  });

  test('a ping to a hook of another repository, or one that is gone, makes nothing', async () => {
    const place = await world.place();
    const elsewhere = await world.hook(await world.place());
    const nothing = { jobs: [], skips: [], cursor: null };
    expect(await page(await pingOf(place, elsewhere))).toEqual(nothing);
    expect(await page(await pingOf(place, 999_999_999))).toEqual(nothing);
  });

  test('events that are mails to somebody make no webhooks', async () => {
    const place = await world.place();
    await world.hook(place);
    const event = await commentEvent(place);
    const nothing = { jobs: [], skips: [], cursor: null };
    for (const type of ['hook.failing', 'hook.disabled', 'address.added']) {
      expect(await page({ ...event, type })).toEqual(nothing);
    }
    expect(await page({ ...event, repositoryId: null })).toEqual(nothing);
    expect(await bodyOf(event)).toBeUndefined();
  });

  test('none of the text of a comment that is deleted; that it is deleted, all who asked', async () => {
    const place = await world.place();
    const asked = await world.hook(place);
    const other = await world.hook(place, { events: ['thread.opened'] });
    const event = await commentEvent(place);
    await world.pool.query('DELETE FROM comment WHERE id = $1', [place.commentId]);
    for (const type of ['comment.created', 'comment.edited']) {
      const made = await page({ ...event, type });
      expect(hooksOf(made)).toEqual([]);
      expect(skipsOf(made)).toEqual({ [asked]: 'comment_deleted', [other]: 'not_subscribed' });
    }
    expect(hooksOf(await page({ ...event, type: 'comment.deleted' }))).toEqual([asked]);
  });

  test('those whose filters it passes; the field of the filter that stopped it is recorded', async () => {
    const place = await world.place();
    const login = `PERSON-${place.ownerId}`;
    const passed = await world.hook(place, { filters: [{ field: 'sender.login', is: [login] }] });
    const stopped = await world.hook(place, {
      filters: [
        { field: 'sender.login', is: [login] },
        { field: 'thread.state', is_not: ['open'] },
      ],
    });
    const made = await page(await commentEvent(place));
    expect(hooksOf(made)).toEqual([passed]);
    expect(made.skips).toEqual([
      { targetKind: 'hook', targetId: stopped, reason: 'filtered', detail: 'thread.state' },
    ]);
  });

  test('none that led to it; each is told who led there, itself included', async () => {
    const place = await world.place();
    const { repositoryId } = place;
    const [first, second, third] = [
      await world.hook(place),
      await world.hook(place),
      await world.hook(place),
    ];
    const event = await commentEvent(place);
    const cause = { repositoryId, hookIds: [second, first] };
    const id = await world.publish(world.comment(place, place.ownerId, 'Hello.'), cause);
    const made = await page({ ...event, id });
    expect(skipsOf(made)).toEqual({ [first]: 'recursion', [second]: 'recursion' });
    const chainOf = ({ jobs }: FanoutPage) =>
      jobs.map(
        (job) => job.kind === 'webhook' && world.chains.read(job.own.chain ?? '', new Date()),
      );
    expect(chainOf(made)).toEqual([{ repositoryId, hookIds: [second, first, third] }]);
    expect(chainOf(await page(event))[0]).toEqual({ repositoryId, hookIds: [first] });
  });

  test('any number of them, by pages of 1,000', async () => {
    const place = await world.place();
    await world.pool.query(
      `INSERT INTO hook (repository_id, url, events) SELECT $1, 'https://r.example', '{*}' FROM generate_series(1, 1100)`,
      [place.repositoryId],
    );
    const event = await commentEvent(place);
    const first = await page(event);
    const second = await page(event, first.cursor);
    expect([first.jobs.length, second.jobs.length, second.cursor]).toEqual([1000, 100, null]);
    expect(new Set([...hooksOf(first), ...hooksOf(second)]).size).toBe(1100);
  });
});

describe('a webhook’s job', () => {
  test('has a key, a lane and the event’s type of its own, and shares the body', async () => {
    const place = await world.place();
    const hooks = [await world.hook(place), await world.hook(place)];
    const event = await commentEvent(place);
    const { jobs } = await page(event);
    expect(jobs).toEqual(
      hooks.map((hookId) => ({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/u),
        idempotencyKey: `webhook:${event.id}:${hookId}`,
        eventId: event.id,
        contentId: jobs[0]?.contentId,
        kind: 'webhook',
        lane: `hook:${hookId}`,
        repositoryId: place.repositoryId,
        hookId,
        ownerId: place.ownerId,
        host: expect.stringMatching(/^[a-z0-9.-]+$/u),
        own: { event: 'comment.created', chain: expect.any(String) },
      })),
    );
  });

  test('keeps its first body when fan-out runs again', async () => {
    const place = await world.place();
    await world.hook(place);
    const event = await commentEvent(place);
    const first = await page(event);
    const body = await bodyOf(event);
    const again = await page({ ...event, createdAt: new Date(0) });
    expect(again.jobs[0]?.contentId).toBe(first.jobs[0]?.contentId);
    expect(await bodyOf(event)).toBe(body);
  });
});

describe('the body', () => {
  const place = { ownerId: 1, repositoryId: 2, threadId: 3 };
  const event: FanoutEvent = {
    id: '019a0000-0000-7000-8000-000000000001',
    type: 'comment.created',
    version: 1,
    repositoryId: 2,
    payload: commentPayload(place, 1, 'Hello.'),
    createdAt: NOW,
  };

  test('begins with the event’s id, type and time, and holds the payload', () => {
    const body = webhookBody(event);
    expect(body).toMatch(
      /^\{"id":"019a0000-\S+","event":"comment\.created","created_at":"2026-01-02T03:04:05\.000Z",/u,
    );
    expect(JSON.parse(body)).toEqual({
      id: event.id,
      event: event.type,
      created_at: NOW.toISOString(),
      ...(event.payload as object),
    });
  });

  test('cannot be passed off as another event by a field of the payload', () => {
    const payload = { ...(event.payload as object), id: 'forged', event: 'member.removed' };
    expect(JSON.parse(webhookBody({ ...event, payload }))).toMatchObject({
      id: event.id,
      event: 'comment.created',
    });
  });

  test('is valid UTF-8 without NUL, whatever the comment holds', () => {
    const payload = commentPayload(place, 1, 'a\0b\ud83dc </script>\u2028😀');
    const { comment } = JSON.parse(webhookBody({ ...event, payload })) as {
      comment: { body: string };
    };
    expect(comment.body).toBe('a\ufffdb\ufffdc </script>\u2028😀');
  });

  test('is refused above what any event can reach', () => {
    const payload = commentPayload(place, 1, 'x'.repeat(26 * 1024 * 1024));
    expect(() => webhookBody({ ...event, payload })).toThrow(/at most 26214400 are sent/u);
  });
});

async function pingOf(place: Place, hookId: number): Promise<FanoutEvent> {
  const { repository, sender } = commentPayload(place, place.ownerId, '');
  const { repositoryId } = place;
  const hook = { id: hookId, url: 'https://receiver.example', events: ['*'], active: true };
  const payload: EventPayload<'ping'> = {
    repository,
    sender,
    zen: 'Be brief.',
    hook_id: hookId,
    hook,
  };
  const id = await world.publish({ type: 'ping', repositoryId, payload });
  return { id, type: 'ping', version: 1, repositoryId, payload, createdAt: NOW };
}
