import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { FanoutWorld, type RunningOutbox } from '../../../../test/support/fanout-world.js';
import { gate } from '../../../../test/support/gate.js';
import { startTcpProxy } from '../../../../test/support/tcp-proxy.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import type { FanoutConsumer } from './fanout-consumer.js';
import type { OutboxDrain } from './outbox-drain.js';

/** A listener that lost its connection connects again after 5 s. */
const RECONNECTED_WITHIN_MS = 15_000;

let world: FanoutWorld;

beforeEach(async () => {
  world = await FanoutWorld.create();
});
afterEach(() => world.stop());

const until = (what: string, predicate: () => unknown, timeoutMs = 10_000) =>
  waitUntil(predicate, { what, timeoutMs });

async function readPlace() {
  const place = await world.place();
  await world.watch(place, await world.account());
  return place;
}

const fannedOut = (...outboxes: RunningOutbox[]) =>
  outboxes.flatMap(({ lines }) => lines.filter((line) => line['event'] === 'outbox.fanned_out'));

describe('several processes', () => {
  test('share the outbox, each page once', async () => {
    const place = await readPlace();
    const outboxes = await Promise.all([world.startOutbox(), world.startOutbox()]);
    const events = await Promise.all(Array.from({ length: 30 }, () => world.publishComment(place)));
    await world.untilProcessed(...events);
    const pages = fannedOut(...outboxes).map((line) =>
      JSON.stringify([line['event_id'], line['consumer']]),
    );
    expect(pages).toHaveLength(60);
    expect(new Set(pages).size).toBe(60);
  });
});

describe('a huge event', () => {
  test('lets small ones pass between its pages', async () => {
    const huge = await world.place();
    await world.watchers(huge, 4000);
    const small = await readPlace();
    let pages = 0;
    const hugeEvent = await world.publishComment(huge);
    const notifier: FanoutConsumer = {
      page: async (tx, event, cursor) => {
        if (event.id === hugeEvent) pages += 1;
        // Between these two pages a small event came and was fanned out to its end.
        if (event.id === hugeEvent && pages === 2) {
          const smallEvent = await world.publishComment(small);
          void world.untilProcessed(smallEvent).then(() => passed.push(pages));
        }
        return world.notifier.page(tx, event, cursor);
      },
    };
    const passed: number[] = [];
    await world.startOutbox({ notifier });
    await world.untilProcessed(hugeEvent);
    expect(pages).toBe(5);
    expect(passed[0]).toBeLessThanOrEqual(4);
    expect(await world.countJobs(hugeEvent)).toBe(4000);
  });
});

describe('a wake during a drain', () => {
  test('drains again: what was committed after the last look is fanned out', async () => {
    const place = await readPlace();
    const outbox = await world.startOutbox();
    // The drains of the start must not be the ones that are stopped below.
    await until(
      'the start to be over',
      () => Reflect.get(outbox.service, 'draining') === undefined,
    );
    const looked = gate();
    const answer = gate();
    const pool: { query(...args: unknown[]): unknown } = outbox.pool;
    const query = pool.query.bind(pool);
    // The drain has found nothing more, and nothing that is due later; it has not heard so yet.
    vi.spyOn(pool, 'query').mockImplementation(async (...args: unknown[]) => {
      const result = await query(...args);
      if (JSON.stringify(args[0]).includes('outbox_next_due')) {
        looked.open();
        await answer.opened;
      }
      return result;
    });
    await world.untilProcessed(await world.publishComment(place));
    await looked.opened;
    const event = await world.publishComment(place);
    const pages = Reflect.get(outbox.service, 'pages') as OutboxDrain;
    await until('the wake', () => Reflect.get(pages, 'woken') === true);
    answer.open();
    await world.untilProcessed(event);
    expect(await world.countJobs(event)).toBe(1);
  });
});

describe('with nothing unfinished', () => {
  test('no timer runs, so nothing is asked until the next commit', async () => {
    const place = await readPlace();
    const outbox = await world.startOutbox();
    const event = await world.publishComment(place);
    await world.untilProcessed(event);
    await until(
      'the end of the drain',
      () => Reflect.get(outbox.service, 'draining') === undefined,
    );
    expect(Reflect.get(outbox.service, 'timer')).toBeUndefined();
  });

  test('a timer runs while a failed event waits for its back-off', async () => {
    const place = await readPlace();
    const notifier = { page: () => Promise.reject(new Error('no')) };
    const outbox = await world.startOutbox({ notifier, retryBaseMs: 3_600_000 });
    await world.publishComment(place);
    await until('the failure', () =>
      outbox.lines.some((line) => line['event'] === 'outbox.failed'),
    );
    await until('the timer', () => Reflect.get(outbox.service, 'timer') !== undefined);
  });
});

describe('a log line', () => {
  test('tells of each page what it made, and how long it took', async () => {
    const place = await readPlace();
    await world.watch(place, await world.account({ verified: false }));
    const outbox = await world.startOutbox();
    const event = await world.publishComment(place);
    await world.untilProcessed(event);
    expect(fannedOut(outbox).find((line) => line['consumer'] === 'notifier')).toMatchObject({
      event_id: event,
      type: 'comment.created',
      jobs: 1,
      skipped: 1,
      last: true,
      ms: expect.any(Number),
    });
  });
});

describe('a shutdown', () => {
  test('waits for the pages in hand, and another process goes on with the rest', async () => {
    const place = await world.place();
    await world.watchers(place, 2500);
    const page = gate();
    const held = gate();
    const slow: FanoutConsumer = {
      page: async (tx, event, cursor) => {
        held.open();
        await page.opened;
        return world.notifier.page(tx, event, cursor);
      },
    };
    const first = await world.startOutbox({ notifier: slow });
    const event = await world.publishComment(place);
    await held.opened;
    let ended = false;
    const stopping = first.stop().then(() => {
      ended = true;
    });
    const second = await world.startOutbox();
    expect(ended).toBe(false);
    page.open();
    await stopping;
    expect(fannedOut(first).filter((line) => line['consumer'] === 'notifier')).toHaveLength(1);
    await world.untilProcessed(event);
    expect(fannedOut(second).filter((line) => line['consumer'] === 'notifier')).toHaveLength(2);
    expect(await world.countJobs(event)).toBe(2500);
  });

  test('starts nothing any more', async () => {
    const place = await readPlace();
    const outbox = await world.startOutbox();
    await outbox.stop();
    const event = await world.publishComment(place);
    await outbox.service.drain();
    expect(await world.progressOf(event)).toMatchObject({
      notifier: { attempts: 0, leased: false, done: false },
    });
  });
});

describe('an outage of the database', () => {
  test('charges nothing, and the fan-out goes on when it is over', async () => {
    const { hostname, port } = new URL(world.url);
    const proxy = await startTcpProxy({ targetHost: hostname, targetPort: Number(port) });
    const place = await readPlace();
    const event = await world.publishComment(place);
    const page = gate();
    const held = gate();
    const outage: FanoutConsumer = {
      page: async (tx, from, cursor) => {
        held.open();
        await page.opened;
        return world.notifier.page(tx, from, cursor);
      },
    };
    const outbox = await world.startOutbox({
      notifier: outage,
      databaseUrl: proxy.urlFor(world.url),
    });
    await held.opened;
    await proxy.cut();
    page.open();
    await until('the end of the drain', () =>
      outbox.lines.some((line) => line['event'] === 'outbox.drain_failed'),
    );
    expect((await world.progressOf(event))['notifier']).toMatchObject({
      attempts: 1,
      leased: true,
    });
    await proxy.resume();
    await until(
      'the charge to be taken back',
      async () => {
        const now = (await world.progressOf(event))['notifier'];
        return now?.attempts === 0;
      },
      RECONNECTED_WITHIN_MS,
    );
    await world.untilProcessed(event);
    expect(outbox.lines.map((line) => line['event'])).not.toContain('outbox.failed');
    await outbox.stop();
    await proxy.stop();
  });

  test('that hits one statement is charged to nobody, and the page is tried again soon', async () => {
    const place = await readPlace();
    let starts = 0;
    const deadlocked: FanoutConsumer = {
      page: (tx, event, cursor) => {
        starts += 1;
        if (starts > 1) return world.notifier.page(tx, event, cursor);
        return Promise.reject(Object.assign(new Error('deadlock detected'), { code: '40P01' }));
      },
    };
    const outbox = await world.startOutbox({ notifier: deadlocked });
    const event = await world.publishComment(place);
    await until('the page to be broken off', () =>
      outbox.lines.some((line) => line['event'] === 'outbox.interrupted'),
    );
    await until('the charge to be taken back', async () => {
      const now = (await world.progressOf(event))['notifier'];
      return now?.leased === false;
    });
    expect((await world.progressOf(event))['notifier']).toMatchObject({ lastError: null });
    await world.untilProcessed(event);
    expect(starts).toBe(2);
  });

  test('that cuts only the listener loses no event', async () => {
    const place = await readPlace();
    const outbox = await world.startOutbox();
    expect(outbox.service.listening).toBe(true);
    await world.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name LIKE '%listener'`,
    );
    await until('the listener to notice', () => !outbox.service.listening);
    const event = await world.publishComment(place);
    await until(
      'the fan-out',
      async () => (await world.countJobs(event)) === 1,
      RECONNECTED_WITHIN_MS,
    );
    expect(outbox.lines.map((line) => line['event'])).toContain('outbox.listener_lost');
  });
});

describe('the wake of a sleeping delivery container', () => {
  test('is posted at the start and after jobs were enqueued, and not when there are none', async () => {
    const posts: string[] = [];
    const server = createServer((request, response) => {
      posts.push(`${request.method} ${request.url}`);
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const outbox = await world.startOutbox({ deliveryWakeUrl: `http://127.0.0.1:${port}/wake` });
    await until('the post at the start', () => posts.length > 0);
    const unread = await world.publishComment(await world.place());
    await world.untilProcessed(unread);
    expect(posts).toEqual(['POST /wake']);
    await world.publishComment(await readPlace());
    await until('the post', () => posts.length > 1);
    expect(posts).toEqual(['POST /wake', 'POST /wake']);
    await outbox.stop();
    server.close();
  });
});
