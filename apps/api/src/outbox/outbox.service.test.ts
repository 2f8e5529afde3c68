import { retryOutbox } from '@ghost/operations';
import { sqlOfPool } from '@ghost/queue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { FanoutWorld } from '../../../../test/support/fanout-world.js';
import { gate } from '../../../../test/support/gate.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { fanOutPage } from './fan-out-page.js';
import type { FanoutConsumer } from './fanout-consumer.js';
import { OutboxProgress } from './outbox-progress.js';

let world: FanoutWorld;

beforeEach(async () => {
  world = await FanoutWorld.create();
});
afterEach(() => world.stop());

/** A place with a hook and one reader: each comment makes one job of each kind. */
async function followedPlace() {
  const place = await world.place();
  const reader = await world.account();
  await world.watch(place, reader);
  const hook = await world.hook(place);
  const keysOf = (event: string) => [`email:${event}:${reader}`, `webhook:${event}:${hook}`];
  return { ...place, keysOf };
}

const until = (what: string, predicate: () => unknown) => waitUntil(predicate, { what });

const fails: FanoutConsumer = {
  page: () => Promise.reject(new Error('the template is broken')),
};

describe('what is committed is fanned out', () => {
  test('an event is fanned out that was committed while nobody listened', async () => {
    const place = await followedPlace();
    const event = await world.publishComment(place);
    await world.startOutbox();
    await world.untilProcessed(event);
    expect(await world.keysOf(event)).toEqual(place.keysOf(event));
  });

  test('a commit wakes the outbox', async () => {
    const place = await followedPlace();
    await world.startOutbox();
    const event = await world.publishComment(place);
    await world.untilProcessed(event);
    expect(await world.keysOf(event)).toEqual(place.keysOf(event));
  });

  test('an event of a transaction that commits after later ones is fanned out', async () => {
    const place = await followedPlace();
    await world.startOutbox();
    let early = '';
    await world.db.transaction(async (tx) => {
      early = await world.publishCommentIn(tx, place);
      const later = [await world.publishComment(place), await world.publishComment(place)];
      await world.untilProcessed(...later);
      expect(early < (later[0] as string)).toBe(true);
    });
    await world.untilProcessed(early);
    expect(await world.keysOf(early)).toEqual(place.keysOf(early));
  });

  test('nothing is sent for an event that is rolled back', async () => {
    const place = await followedPlace();
    await world.startOutbox();
    let undone = '';
    const rolledBack = world.db.transaction(async (tx) => {
      undone = await world.publishCommentIn(tx, place);
      throw new Error('changed my mind');
    });
    await expect(rolledBack).rejects.toThrow('changed my mind');
    const after = await world.publishComment(place);
    await world.untilProcessed(after);
    expect(await world.keysOf(undone)).toEqual([]);
    expect(await world.progressOf(undone)).toEqual({});
  });

  test('a wake before the commit loses nothing', async () => {
    const place = await followedPlace();
    const outbox = await world.startOutbox();
    let event = '';
    await world.db.transaction(async (tx) => {
      event = await world.publishCommentIn(tx, place);
      const other = await world.publishComment(place);
      await world.untilProcessed(other);
      await outbox.service.drain();
      expect(await world.keysOf(event)).toEqual([]);
    });
    await world.untilProcessed(event);
    expect(await world.keysOf(event)).toEqual(place.keysOf(event));
  });

  test('50 writers that commit in any order, some of them never: the set is exact', async () => {
    const place = await followedPlace();
    await Promise.all([world.startOutbox(), world.startOutbox()]);
    const committed: string[] = [];
    const undone: string[] = [];
    const write = async (n: number) => {
      await world.db
        .transaction(async (tx) => {
          const event = await world.publishCommentIn(tx, place);
          await tx.execute(`SELECT pg_sleep(${(n % 7) / 100})`);
          (n % 5 === 0 ? undone : committed).push(event);
          if (n % 5 === 0) throw new Error('undone');
        })
        .catch(() => undefined);
    };
    await Promise.all(Array.from({ length: 50 }, (_, n) => write(n)));
    await world.untilProcessed(...committed);
    const keys = await Promise.all(committed.map((event) => world.keysOf(event)));
    expect(keys).toEqual(committed.map((event) => place.keysOf(event)));
    expect(await Promise.all(undone.map((event) => world.countJobs(event)))).toEqual(
      undone.map(() => 0),
    );
  });
});

describe('each consumer has its own progress', () => {
  test('a notifier that throws is set aside for mails alone, with its error, and webhooks leave', async () => {
    const place = await followedPlace();
    const outbox = await world.startOutbox({ notifier: fails, retryBaseMs: 1 });
    const event = await world.publishComment(place);
    const progress = await until('the notifier to be set aside', async () => {
      const now = await world.progressOf(event);
      return now['notifier']?.setAside === true && now;
    });
    expect(progress).toMatchObject({
      notifier: { attempts: 5, lastError: 'Error: the template is broken', done: false },
      'webhook-fanout': { attempts: 0, lastError: null, done: true, setAside: false },
    });
    expect(await world.keysOf(event)).toEqual([place.keysOf(event)[1]]);
    const failures = outbox.lines.filter((line) => line['consumer'] === 'notifier');
    expect(failures.map((line) => line['event'])).toEqual([
      ...Array.from({ length: 4 }, () => 'outbox.failed'),
      'outbox.set_aside',
    ]);
    expect(await isProcessed(event)).toBe(false);
  });

  test('an operator’s retry lets a mended consumer end what it set aside', async () => {
    const place = await followedPlace();
    let mended = false;
    const notifier: FanoutConsumer = {
      page: (tx, event, cursor) => (mended ? world.notifier : fails).page(tx, event, cursor),
    };
    await world.startOutbox({ notifier, retryBaseMs: 1 });
    const event = await world.publishComment(place);
    await until('the notifier to be set aside', async () => {
      return (await world.progressOf(event))['notifier']?.setAside;
    });
    mended = true;
    expect(await retryOutbox(world.pool, event)).toMatchObject({ consumers: ['notifier'] });
    await world.untilProcessed(event);
    expect(await world.keysOf(event)).toEqual(place.keysOf(event));
  });

  test('a failure is tried again and forgotten when it ends well', async () => {
    const place = await followedPlace();
    let failures = 2;
    const flaky: FanoutConsumer = {
      page: (tx, event, cursor) => {
        failures -= 1;
        return failures >= 0
          ? Promise.reject(new Error('not yet'))
          : world.notifier.page(tx, event, cursor);
      },
    };
    await world.startOutbox({ notifier: flaky, retryBaseMs: 1 });
    const event = await world.publishComment(place);
    await world.untilProcessed(event);
    expect(await world.progressOf(event)).toMatchObject({
      notifier: { attempts: 0, lastError: null },
    });
    expect(await world.keysOf(event)).toEqual(place.keysOf(event));
  });

  test('a failing event does not keep the drain from the events behind it', async () => {
    const place = await followedPlace();
    const first = await world.publishComment(place);
    const others = [await world.publishComment(place), await world.publishComment(place)];
    const picky: FanoutConsumer = {
      page: (tx, event, cursor) =>
        event.id === first ? fails.page(tx, event, cursor) : world.notifier.page(tx, event, cursor),
    };
    await world.startOutbox({ notifier: picky, retryBaseMs: 60_000 });
    await world.untilProcessed(...others);
    expect((await world.progressOf(first))['notifier']).toMatchObject({ attempts: 1, done: false });
  });

  test('an event is processed once its last consumer has ended, also when both end at once', async () => {
    const place = await followedPlace();
    await Promise.all([world.startOutbox(), world.startOutbox()]);
    const events = await Promise.all(Array.from({ length: 20 }, () => world.publishComment(place)));
    await world.untilProcessed(...events);
  });

  test('an event whose process died between its last commit and its next claim is closed at a start', async () => {
    const place = await followedPlace();
    const event = await world.publishComment(place);
    await world.pool.query('UPDATE outbox_progress SET done_at = now() WHERE event_id = $1', [
      event,
    ]);
    await world.startOutbox();
    await world.untilProcessed(event);
  });
});

describe('a fan-out that runs again', () => {
  test('enqueues nothing twice', async () => {
    const place = await followedPlace();
    const outbox = await world.startOutbox();
    const event = await world.publishComment(place);
    await world.untilProcessed(event);
    const before = await jobsOf(event);
    await world.pool.query(
      `UPDATE outbox_progress SET done_at = NULL, cursor = NULL, run_at = now() WHERE event_id = $1`,
      [event],
    );
    await outbox.service.drain();
    expect((await world.progressOf(event))['notifier']).toMatchObject({ done: true });
    expect(await jobsOf(event)).toEqual(before);
  });

  test('resumes at the page where the process died', async () => {
    const place = await world.place();
    await world.watchers(place, 2500);
    const pages: (string | null)[] = [];
    const death = gate();
    const mortal: FanoutConsumer = {
      page: async (tx, event, cursor) => {
        pages.push(cursor);
        if (pages.length === 2) await death.opened;
        return world.notifier.page(tx, event, cursor);
      },
    };
    const event = await world.publishComment(place);
    await world.startOutbox({ notifier: mortal });
    await until('the second page', () => pages.length === 2);
    expect(await world.countJobs(event)).toBe(1000);
    await dieWithPageOpen(event);
    await world.startOutbox({ notifier: mortal });
    await world.untilProcessed(event);
    death.open();
    expect(pages).toEqual([null, pages[1], pages[1], expect.stringContaining('"after"')]);
    expect(await world.countJobs(event)).toBe(2500);
  });

  test('a page whose lease was lost meanwhile writes nothing', async () => {
    const place = await followedPlace();
    const event = await world.publishComment(place);
    const progress = new OutboxProgress(sqlOfPool(world.pool), 1);
    const { claimed } = await progress.claim(2, true);
    await world.pool.query('UPDATE outbox_progress SET lease_no = lease_no + 1');
    for (const row of claimed) {
      const consumer = row.consumer === 'notifier' ? world.notifier : world.webhooks;
      expect(
        await fanOutPage(world.pool, world.queue, consumer, row, {
          pauseMs: 0,
          lockWithinMs: 10_000,
        }),
      ).toEqual({
        state: 'fenced',
      });
      expect(await progress.fail(row, 'too late')).toBe('fenced');
    }
    expect(claimed).toHaveLength(2);
    expect(await world.keysOf(event)).toEqual([]);
    expect(await world.progressOf(event)).toMatchObject({
      notifier: { attempts: 1, lastError: null, leased: true },
      'webhook-fanout': { attempts: 1, lastError: null, leased: true },
    });
  });
});

async function jobsOf(event: string) {
  const { rows } = await world.pool.query(
    'SELECT id, content_id, own, created_at FROM delivery_job WHERE event_id = $1 ORDER BY id',
    [event],
  );
  return rows;
}

async function isProcessed(event: string): Promise<boolean> {
  const { rows } = await world.pool.query<{ processed: boolean }>(
    'SELECT processed_at IS NOT NULL AS processed FROM outbox_event WHERE id = $1',
    [event],
  );
  return rows[0]?.processed ?? false;
}

/** Ends the connection of an open page, and its lease, as the death of a process does in time. */
async function dieWithPageOpen(event: string): Promise<void> {
  await world.pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'idle in transaction'`,
  );
  await world.pool.query(
    `UPDATE outbox_progress SET lease_until = now() - interval '1 second' WHERE event_id = $1 AND lease_until IS NOT NULL`,
    [event],
  );
}
