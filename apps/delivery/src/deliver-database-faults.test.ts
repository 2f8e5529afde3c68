import type { Settlement } from '@ghost/queue';
import { beforeEach, describe, expect, test } from 'vitest';

import { gate } from '../../../test/support/gate.js';
import type { DeliverySeed } from '../../../test/support/delivery-seed.js';
import {
  allDelivered,
  seededDatabase,
  startWorker,
} from '../../../test/support/delivery-worker.js';
import { receiver, untilTestEnds } from '../../../test/support/servers-of-a-test.js';
import { startTcpProxy } from '../../../test/support/tcp-proxy.js';
import { waitUntil } from '../../../test/support/wait-until.js';

let databaseUrl: string;
let seed: DeliverySeed;
beforeEach(async () => {
  ({ databaseUrl, seed } = await seededDatabase());
});

describe('the database', () => {
  test.each([
    ['25006', 'read-only'],
    ['XX000', 'of a pooler'],
    ['57014', 'of a statement that took too long'],
    ['ENOTCONN', 'nobody thought of'],
  ])('may answer %s (%s): the outcome is kept, and written later', async (code) => {
    const target = await receiver();
    let faults = 0;
    const worker = await startWorker(databaseUrl, {
      around: (queue) => ({
        settle: async (settlements) => {
          faults += 1;
          if (faults <= 3) throw Object.assign(new Error('not now'), { code });
          return queue.settle(settlements);
        },
      }),
    });
    await seed.webhooks([await seed.hook(target.url)]);
    await allDelivered(seed);
    expect(target.requests()).toHaveLength(1);
    expect(worker.lines.filter(({ event }) => String(event).includes('settle_'))).toEqual([]);
  });

  test('may have no disk space for a while: outcomes are kept, and all goes on by itself', async () => {
    const answer = gate();
    const target = await receiver(async () => {
      await answer.opened;
      return 200;
    });
    const worker = await startWorker(databaseUrl);
    const hook = await seed.hook(target.url);
    await seed.webhooks([hook]);
    await target.waitForRequests(1);
    await seed.pool.query(`
      CREATE FUNCTION disk_full() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
      CREATE TRIGGER disk_full BEFORE UPDATE ON delivery_job EXECUTE FUNCTION disk_full();
    `);
    answer.open();
    await seed.webhooks([hook]);
    await waitUntil(() => worker.lines.some(({ event }) => event === 'database.down'), {
      what: 'a statement to be refused',
    });
    await seed.pool.query('DROP TRIGGER disk_full ON delivery_job');
    await allDelivered(seed);
    expect(target.requests()).toHaveLength(2);
    expect(await seed.jobs()).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
  });

  test('may lose its answer to a settle: said again, the outcome counts once and is told', async () => {
    const target = await receiver(() => ({ status: 500 }));
    let first = true;
    const worker = await startWorker(databaseUrl, {
      around: (queue) => ({
        settle: async (settlements) => {
          const settled = await queue.settle(settlements);
          if (!first) return settled;
          first = false;
          throw Object.assign(new Error('cut'), { code: 'ECONNRESET' });
        },
      }),
    });
    await seed.webhooks([await seed.hook(target.url)]);
    const [line] = await waitUntil(
      () => {
        const lines = worker.lines.filter(({ event }) => event === 'delivery.attempted');
        return lines.length > 0 ? lines : undefined;
      },
      { what: 'the attempt to be told' },
    );
    expect(line).toMatchObject({ outcome: 'retry', reason: 'http_5xx' });
    expect(line).not.toHaveProperty('fenced');
    expect(await seed.attempts()).toMatchObject([{ number: 1, outcome: 'retry' }]);
    expect(await seed.jobs()).toMatchObject([{ status: 'pending', attempts: 1, tries: 1 }]);
    expect(target.requests()).toHaveLength(1);
  });

  test('may be away for a while: outcomes are kept, nothing is sent twice', async () => {
    const answer = gate();
    const target = await receiver(async () => {
      await answer.opened;
      return 200;
    });
    const hook = await seed.hook(target.url);
    const proxy = untilTestEnds(
      await startTcpProxy({ targetPort: Number(new URL(databaseUrl).port) }),
    );
    await seed.webhooks(Array.from({ length: 8 }, () => hook));
    let settles = 0;
    const worker = await startWorker(proxy.urlFor(databaseUrl), {
      around: (queue) => ({
        settle: (settlements) => {
          settles += 1;
          return queue.settle(settlements);
        },
      }),
    });
    await target.waitForRequests(8);
    await proxy.cut();
    answer.open();
    await waitUntil(() => settles > 2, { what: 'the outcomes to be tried again' });
    expect(worker.inHand.size).toBe(8);
    await proxy.resume();
    await allDelivered(seed);
    expect(target.requests()).toHaveLength(8);
    expect(worker.lines.filter(({ event }) => event === 'database.down')).toHaveLength(1);
    expect(worker.lines.some(({ event }) => event === 'database.back')).toBe(true);
    // And it goes on.
    await seed.webhooks([hook]);
    await target.waitForRequests(9);
  });

  test('refuses one outcome: the others are written, that one without its texts', async () => {
    const target = await receiver(({ headers }) => ({
      status: 200,
      body: String(headers['x-ghost-hook-id']),
    }));
    const hooks = await Promise.all(Array.from({ length: 6 }, () => seed.hook(target.url)));
    const bad = String(hooks[3]);
    const isBad = (one: Settlement) => one.attempt?.bodyExcerpt === bad;
    await seed.webhooks(hooks);
    const worker = await startWorker(databaseUrl, {
      around: (queue) => ({
        settle: async (settlements) => {
          if (settlements.some(isBad)) {
            // What Postgres would say of a text that it cannot hold; the statement fails as a whole.
            await seed.pool.query(`SELECT E'\\xff'::text`).catch(() => undefined);
            throw Object.assign(new Error('invalid byte sequence'), { code: '22021' });
          }
          return queue.settle(settlements);
        },
      }),
    });
    await allDelivered(seed);
    expect(target.requests()).toHaveLength(6);
    const excerpts = (await seed.attempts()).map(({ bodyExcerpt }) => bodyExcerpt);
    expect(excerpts.filter((excerpt) => excerpt === null)).toHaveLength(1);
    expect(worker.lines).toContainEqual(
      expect.objectContaining({ event: 'delivery.settle_failed' }),
    );
  });
});
