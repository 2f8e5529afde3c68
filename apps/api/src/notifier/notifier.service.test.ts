import { joinMail, mailContent, mailOwn } from '@ghost/contract';
import { sqlOfPool } from '@ghost/queue';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { commentPayload, FanoutWorld, type Place } from '../../../../test/support/fanout-world.js';
import { commentEventOf, readersOf, skipsOf } from '../../../../test/support/notifier-pages.js';
import { fanOutPage } from '../outbox/fan-out-page.js';
import type { FanoutConsumer, FanoutEvent, FanoutPage } from '../outbox/fanout-consumer.js';
import { OutboxProgress } from '../outbox/outbox-progress.js';

let world: FanoutWorld;

beforeAll(async () => {
  world = await FanoutWorld.create();
});
afterAll(() => world.stop());

const commentEvent = (place: Place, actorId?: number) => commentEventOf(world, place, actorId);

/** Runs one page in a transaction that is committed. */
const page = (event: FanoutEvent, cursor: string | null = null): Promise<FanoutPage> =>
  world.db.transaction((tx) => world.notifier.page(tx, event, cursor));

describe('who gets a mail', () => {
  test('everybody who watches or takes part, once, with the strongest reason', async () => {
    const place = await world.place();
    const [watcher, participant, both, subscribed, author, actor] = [
      await world.account(),
      await world.account(),
      await world.account(),
      await world.account(),
      await world.account(),
      await world.account(),
    ];
    await world.watch(place, watcher);
    await world.watch(place, both);
    await world.takesPart(place, both);
    await world.takesPart(place, participant);
    await world.takesPart(place, subscribed, 'manual');
    await world.watch(place, author);
    await world.takesPart(place, author, 'author');
    const made = await page(await commentEvent(place, actor));
    expect(readersOf(made)).toEqual({
      [watcher]: 'watching',
      [participant]: 'participant',
      [both]: 'participant',
      [subscribed]: 'subscribed',
      [author]: 'author',
    });
    expect(made).toMatchObject({ skips: [], cursor: null });
  });

  test('whoever is left out is recorded with the reason', async () => {
    const place = await world.place({ private: true });
    const member = async (options = {}) => {
      const id = await world.account(options);
      await world.member(place, id);
      await world.watch(place, id);
      return id;
    };
    const reader = await member();
    const actor = await member();
    const unverified = await member({ verified: false });
    const muted = await member();
    await world.takesPart(place, muted, 'participant', true);
    const ignoring = await world.account();
    await world.member(place, ignoring);
    await world.watch(place, ignoring, true);
    await world.takesPart(place, ignoring);
    const outsider = await world.account();
    await world.watch(place, outsider);
    await world.takesPart(place, outsider);
    const suppressed = await member({ email: 'Bounced@People.example' });
    await suppress('bounced@people.example', `now() - interval '1 day'`, 'NULL');
    await world.watch(place, place.ownerId);
    const made = await page(await commentEvent(place, actor));
    expect(readersOf(made)).toEqual({ [reader]: 'watching', [place.ownerId]: 'watching' });
    expect(skipsOf(made)).toEqual({
      [actor]: 'actor',
      [unverified]: 'unverified',
      [muted]: 'muted',
      [ignoring]: 'ignored',
      [outsider]: 'no_access',
      [suppressed]: 'suppressed',
    });
  });

  test('what they chose for all threads counts, and the weaker reason where the stronger is unwanted', async () => {
    const place = await world.place();
    const wants = async (
      choice: Partial<Record<'watching' | 'participating' | 'own', boolean>>,
    ) => {
      const id = await world.account();
      const { watching = true, participating = true, own = false } = choice;
      await world.pool.query(
        'INSERT INTO mail_choice (account_id, watching, participating, own_actions) VALUES ($1, $2, $3, $4)',
        [id, watching, participating, own],
      );
      return id;
    };
    const [noWatching, noPart, both, neither, actor] = [
      await wants({ watching: false }),
      await wants({ participating: false }),
      await wants({ participating: false }),
      await wants({ watching: false, participating: false }),
      await wants({ own: true }),
    ];
    for (const id of [noWatching, both, neither, actor]) await world.watch(place, id);
    for (const id of [noPart, both, neither]) await world.takesPart(place, id);
    const made = await page(await commentEvent(place, actor));
    expect(readersOf(made)).toEqual({ [both]: 'watching', [actor]: 'watching' });
    const unwanted = { [noWatching]: 'unwanted', [noPart]: 'unwanted', [neither]: 'unwanted' };
    expect(skipsOf(made)).toEqual(unwanted);
    await world.takesPart(place, noWatching, 'manual');
    expect(readersOf(await page(await commentEvent(place, actor)))).toMatchObject({
      [noWatching]: 'subscribed',
    });
  });

  test('an address gets mail again once its suppression has ended, or before it has begun', async () => {
    const place = await world.place();
    const [ended, strikesOnly, bounced] = [
      await world.account({ email: 'ended@people.example' }),
      await world.account({ email: 'strikes@people.example' }),
      await world.account({ email: 'until@people.example' }),
    ];
    await suppress('ended@people.example', `now() - interval '2 days'`, `now() - interval '1 day'`);
    await suppress('strikes@people.example', 'NULL', 'NULL');
    await suppress('until@people.example', `now() - interval '1 day'`, `now() + interval '1 day'`);
    for (const id of [ended, strikesOnly, bounced]) await world.watch(place, id);
    const made = await page(await commentEvent(place));
    expect(readersOf(made)).toEqual({ [ended]: 'watching', [strikesOnly]: 'watching' });
    expect(skipsOf(made)).toEqual({ [bounced]: 'suppressed' });
  });

  test('whom the text mentions, for that reason above all others, unless they want no mail', async () => {
    const place = await world.place({ private: true });
    const [author, participant, watcher, muted, outsider, actor] = [
      await world.account(),
      await world.account(),
      await world.account(),
      await world.account(),
      await world.account(),
      await world.account(),
    ];
    const people = [author, participant, watcher, muted, outsider, actor];
    for (const id of [author, participant, watcher, muted, actor]) await world.member(place, id);
    await world.takesPart(place, author, 'author');
    await world.takesPart(place, participant);
    await world.watch(place, watcher);
    await world.takesPart(place, muted, 'mention', true);
    await world.takesPart(place, outsider, 'mention');
    await world.takesPart(place, actor);
    const event = await commentEvent(place, actor);
    const payload = event.payload as ReturnType<typeof commentPayload>;
    const mentions = people.map((id) => ({ id, login: `person-${id}`, name: '' }));
    const made = await page({
      ...event,
      payload: { ...payload, comment: { ...payload.comment, mentions } },
    });
    expect(readersOf(made)).toEqual({
      [author]: 'mentioned',
      [participant]: 'mentioned',
      [watcher]: 'mentioned',
    });
    expect(skipsOf(made)).toEqual({ [muted]: 'muted', [outsider]: 'no_access', [actor]: 'actor' });
    // A thread that is closed mentions nobody anew.
    const closed = { ...payload, thread: { ...payload.thread, mentions } };
    expect(readersOf(await page({ ...event, type: 'thread.closed', payload: closed }))).toEqual({
      [author]: 'author',
      [participant]: 'participant',
      [watcher]: 'watching',
    });
    expect(readersOf(await page({ ...event, type: 'thread.opened', payload: closed }))).toEqual(
      readersOf(made),
    );
  });

  test('nobody, once the comment is deleted; who wanted none anyway is left out for that', async () => {
    const place = await world.place();
    const [watcher, muted] = [await world.account(), await world.account()];
    await world.watch(place, watcher);
    await world.takesPart(place, muted, 'participant', true);
    const event = await commentEvent(place);
    await world.pool.query('DELETE FROM comment WHERE id = $1', [place.commentId]);
    const made = await page(event);
    expect(made).toMatchObject({ jobs: [], cursor: null });
    expect(skipsOf(made)).toEqual({ [watcher]: 'comment_deleted', [muted]: 'muted' });
    expect(await contentsOf(event.id)).toBe(0);
  });

  test('nobody, of an event that makes no mail or whose repository is gone', async () => {
    const place = await world.place();
    await world.watch(place, await world.account());
    const event = await commentEvent(place);
    const nothing = { jobs: [], skips: [], cursor: null };
    expect(await page({ ...event, type: 'comment.edited' })).toEqual(nothing);
    expect(await page({ ...event, repositoryId: null })).toEqual(nothing);
    expect(await page({ ...event, repositoryId: 999_999_999 })).toEqual(nothing);
    expect(await contentsOf(event.id)).toBe(0);
  });
});

describe('an audience of any size', () => {
  test('is paged by 1,000 in the order of accounts, and each gets one mail', async () => {
    const place = await world.place();
    await world.watchers(place, 2100);
    const { rows } = await world.pool.query<{ id: string }>(
      'SELECT account_id AS id FROM watch WHERE repository_id = $1 ORDER BY 1',
      [place.repositoryId],
    );
    const ids = rows.map((row) => Number(row.id));
    // Participants among the watchers, before and after them: the two lists are merged.
    for (const id of [ids[5], ids[999], ids[1000], ids[2099]]) {
      await world.takesPart(place, id as number);
    }
    await world.takesPart(place, place.ownerId);
    const event = await commentEvent(place, await world.account());
    const pages: number[][] = [];
    let cursor: string | null = null;
    do {
      const made: FanoutPage = await page(event, cursor);
      pages.push(Object.keys(readersOf(made)).map(Number));
      cursor = made.cursor;
    } while (cursor !== null);
    expect(pages.map((readers) => readers.length)).toEqual([1000, 1000, 101]);
    expect(pages.flat()).toEqual([place.ownerId, ...ids].sort((a, b) => a - b));
    expect(await contentsOf(event.id)).toBe(1);
  });

  test('makes the same jobs again from the same cursor', async () => {
    const place = await world.place();
    await world.watchers(place, 1200);
    const event = await commentEvent(place);
    const first = await page(event);
    const keys = (made: FanoutPage) => made.jobs.map((job) => [job.idempotencyKey, job.contentId]);
    expect(keys(await page(event))).toEqual(keys(first));
    expect(keys(await page(event, first.cursor))).toEqual(keys(await page(event, first.cursor)));
  });

  test('above 1,000 readers all its mail goes to the bulk lanes, which others pass', async () => {
    const lanesOf = async (watchers: number) => {
      const place = await world.place();
      await world.watchers(place, watchers, 2);
      const event = await commentEvent(place);
      const first = await page(event);
      const rest = first.cursor === null ? [] : (await page(event, first.cursor)).jobs;
      return [...new Set([...first.jobs, ...rest].map((job) => job.lane))].sort();
    };
    const small = ['mail:mail0.example', 'mail:mail1.example'];
    expect(await lanesOf(999)).toEqual(small);
    expect(await lanesOf(1000)).toEqual(small);
    expect(await lanesOf(1001)).toEqual(small.map((lane) => `${lane}:bulk`));
  });

  test('is read by its keys: no page reads more than a page, with statistics or without', async () => {
    const place = await world.place();
    await world.watchers(place, 5000);
    const event = await commentEvent(place);
    await world.pool.query(`DELETE FROM outbox_progress WHERE consumer <> 'notifier'`);
    for (const statistics of ['SELECT', 'ANALYZE']) {
      await world.pool.query(statistics);
      const { claimed } = await new OutboxProgress(sqlOfPool(world.pool), 1).claim(100, true);
      const mine = claimed.find((row) => row.event.id === event.id);
      if (mine === undefined) throw new Error('The event was not claimed');
      const counting = countingNotifier();
      const outcome = await fanOutPage(world.pool, world.queue, counting, mine, {
        pauseMs: 0,
        lockWithinMs: 10_000,
      });
      expect(outcome).toMatchObject({ state: 'saved', jobs: 1000, last: false });
      // The first page also counts whether there are more than 1,000.
      expect(counting.read['watch']).toBeLessThanOrEqual(mine.cursor === null ? 2001 : 1000);
      expect(counting.read['account']).toBe(1000);
    }
  });
});

describe('a mail', () => {
  test('is whole when the event’s parts and the reader’s are joined', async () => {
    const place = await world.place();
    const reader = await world.account({ name: 'Jane "J." Doe', email: 'jane@people.example' });
    await world.watch(place, reader);
    const event = await commentEvent(place);
    const made = await page(event);
    const job = made.jobs[0];
    if (job?.kind !== 'email') throw new Error('There is no mail');
    expect(job).toMatchObject({
      idempotencyKey: `email:${event.id}:${reader}`,
      lane: 'mail:people.example',
      eventId: event.id,
      repositoryId: place.repositoryId,
      own: { to: { name: 'Jane "J." Doe', address: 'jane@people.example' } },
    });
    const { rows } = await world.pool.query<{ parts: unknown }>(
      'SELECT parts FROM delivery_content WHERE id = $1',
      [job.contentId],
    );
    const message = joinMail(mailContent.parse(rows[0]?.parts), mailOwn.parse(job.own), job.id);
    expect(message.messageId).toBe(`<${job.id}@ghost.example>`);
    const token = String(job.own.slots['u']);
    expect(message.headers['List-Unsubscribe']).toBe(
      `<https://ghost.example/api/unsubscribe/${token}>`,
    );
    expect(world.tokens.verify(token)).toEqual({ threadId: place.threadId, accountId: reader });
    expect(message.text).toContain(`https://ghost.example/api/unsubscribe/${token}`);
  });
});

async function suppress(address: string, since: string, until: string): Promise<void> {
  await world.pool.query(
    `INSERT INTO mail_suppression (address, reason, since, until) VALUES ($1, 'bounced', ${since}, ${until})`,
    [address],
  );
}

async function contentsOf(event: string): Promise<number> {
  const { rows } = await world.pool.query<{ contents: number }>(
    'SELECT count(*)::int AS contents FROM delivery_content WHERE event_id = $1',
    [event],
  );
  return rows[0]?.contents ?? 0;
}

/** The notifier, and how many rows of each table its last page read, by the server's own count. */
function countingNotifier() {
  const read: Record<string, number> = {};
  const page: FanoutConsumer['page'] = async (tx, event, cursor) => {
    // The view holds what its connection has not reported yet, of earlier transactions too.
    const count = async () => {
      const counts = await tx.execute<{ name: string; rows: string }>(
        `SELECT relname AS name, seq_tup_read + coalesce(idx_tup_fetch, 0) AS rows FROM pg_stat_xact_user_tables`,
      );
      return new Map(counts.rows.map((row) => [row.name, Number(row.rows)]));
    };
    const before = await count();
    const made = await world.notifier.page(tx, event, cursor);
    for (const [name, rows] of await count()) read[name] = rows - (before.get(name) ?? 0);
    return made;
  };
  return { read, page };
}
