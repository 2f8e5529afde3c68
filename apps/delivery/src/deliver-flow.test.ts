import { beforeEach, describe, expect, test } from 'vitest';

import type { DeliverySeed } from '../../../test/support/delivery-seed.js';
import {
  allDelivered,
  seededDatabase,
  startWorker,
  statuses,
} from '../../../test/support/delivery-worker.js';
import { receiver } from '../../../test/support/servers-of-a-test.js';
import { waitUntil } from '../../../test/support/wait-until.js';

let databaseUrl: string;
let seed: DeliverySeed;
beforeEach(async () => {
  ({ databaseUrl, seed } = await seededDatabase());
});

describe('the flow', () => {
  test('delivers what is there at the start and what comes later, each once', async () => {
    const target = await receiver();
    const hooks = await Promise.all(
      Array.from({ length: 5 }, (_, index) => seed.hook(`${target.url}${index}`)),
    );
    const first = await seed.webhooks(hooks);
    const worker = await startWorker(databaseUrl);
    await target.waitForRequests(5);
    const later = await seed.webhooks(
      Array.from({ length: 60 }, (_, index) => hooks[index % 5] ?? 0),
    );
    await target.waitForRequests(65);
    await allDelivered(seed);
    const ids = target.requests().map(({ headers }) => headers['x-ghost-delivery']);
    expect(ids).toHaveLength(65);
    expect(new Set(ids)).toEqual(new Set([...first, ...later]));
    const attempts = await seed.attempts();
    expect(attempts).toHaveLength(65);
    expect(new Set(attempts.map(({ outcome }) => outcome))).toEqual(new Set(['delivered']));
    expect(worker.inHand.size).toBe(0);
  });

  test('tries again by the back-off, with the same id and bytes, and is dead after the last try', async () => {
    const target = await receiver(() => ({ status: 500, body: 'nope' }));
    await seed.webhooks([await seed.hook(target.url)]);
    await startWorker(databaseUrl, { maxAttempts: 3, retryBaseMs: 20 });
    const [job] = await waitUntil(
      async () => {
        const jobs = await seed.jobs();
        return jobs[0]?.status === 'dead' ? jobs : undefined;
      },
      { what: 'the job to be dead' },
    );
    expect(job).toMatchObject({ attempts: 3, tries: 3, lastError: 'attempts_exhausted' });
    const requests = target.requests();
    expect(requests.map(({ headers }) => headers['x-ghost-attempt'])).toEqual(['1', '2', '3']);
    expect(new Set(requests.map(({ headers }) => headers['x-ghost-delivery'])).size).toBe(1);
    expect(new Set(requests.map(({ body }) => body.toString('hex'))).size).toBe(1);
    expect(await seed.attempts()).toMatchObject([
      { number: 1, outcome: 'retry', reason: 'http_5xx', status: 500, bodyExcerpt: 'nope' },
      { number: 2, outcome: 'retry' },
      { number: 3, outcome: 'dead', reason: 'attempts_exhausted' },
    ]);
  });

  test('a 410 holds the lane: charged, pending, and nothing more is sent', async () => {
    const target = await receiver(() => 410);
    const hook = await seed.hook(target.url);
    await seed.webhooks([hook]);
    await startWorker(databaseUrl);
    await waitUntil(async () => (await seed.attempts()).length === 1, { what: 'the attempt' });
    await seed.webhooks([hook]);
    const other = await receiver();
    await seed.webhooks([await seed.hook(other.url)]);
    await other.waitForRequests(1);
    expect(target.requests()).toHaveLength(1);
    expect(await seed.jobs()).toMatchObject([
      { status: 'pending', attempts: 1, lastError: 'gone' },
      { status: 'pending', attempts: 0 },
      {},
    ]);
  });

  test('a deleted or inactive hook cancels, an unreadable secret holds: never unsigned', async () => {
    const target = await receiver();
    const deleted = await seed.hook(target.url);
    const inactive = await seed.hook(target.url, { active: false });
    const unreadable = await seed.hook(target.url);
    const secretless = await seed.hook(target.url, { secrets: [] });
    await seed.pool.query(
      `UPDATE hook_secret SET ciphertext = 'v1.other.AAAAAAAAAAAAAAAA.AAAA.AAAAAAAAAAAAAAAAAAAAAA' WHERE hook_id = $1`,
      [unreadable],
    );
    await seed.webhooks([deleted, inactive, unreadable, secretless]);
    await seed.pool.query('DELETE FROM hook WHERE id = $1', [deleted]);
    await startWorker(databaseUrl);
    await waitUntil(async () => (await seed.attempts()).length === 4, { what: 'four outcomes' });
    expect(await seed.jobs()).toMatchObject([
      { status: 'cancelled', lastError: 'hook_deleted', attempts: 0 },
      { status: 'cancelled', lastError: 'hook_inactive', attempts: 0 },
      { status: 'pending', lastError: 'secret_unreadable', attempts: 0 },
      { status: 'pending', lastError: 'secret_unreadable', attempts: 0 },
    ]);
    expect(target.requests()).toHaveLength(0);
  });

  test('a rotated secret or mended URL serves jobs that wait already', async () => {
    const target = await receiver();
    const hook = await seed.hook('http://127.0.0.1:1/');
    await seed.webhooks([hook]);
    await seed.pool.query('UPDATE hook SET url = $1 WHERE id = $2', [target.url, hook]);
    await startWorker(databaseUrl);
    await target.waitForRequests(1);
    await allDelivered(seed);
  });

  test('never more of a lane at once than its slots', async () => {
    let open = 0;
    let most = 0;
    const target = await receiver(async () => {
      open += 1;
      most = Math.max(most, open);
      // Longer than jobs wait for each other's connection.
      await new Promise((resolve) => setTimeout(resolve, 150));
      open -= 1;
      return 200;
    });
    const hook = await seed.hook(target.url);
    await seed.webhooks(Array.from({ length: 16 }, () => hook));
    await startWorker(databaseUrl, { laneSlots: 4 });
    await target.waitForRequests(16);
    await allDelivered(seed);
    expect(most).toBe(4);
  });

  test('a hung endpoint holds its own slots and no others', async () => {
    const hung = await receiver(() => 'hang');
    const quick = await receiver();
    const slow = await seed.hook(hung.url);
    await seed.webhooks(Array.from({ length: 200 }, () => slow));
    await startWorker(databaseUrl, { concurrency: 20, laneSlots: 5, deadlineMs: 5_000 });
    await hung.waitForRequests(5);
    const fine = await seed.hook(quick.url);
    const startedAt = performance.now();
    await seed.webhooks([fine]);
    await quick.waitForRequests(1);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(hung.requests()).toHaveLength(5);
  });
});

describe('jobs that cannot be read', () => {
  const dead = async () => (await statuses(seed)).filter((status) => status === 'dead').length;

  test('are dead at once and hold up nobody of their lane', async () => {
    const target = await receiver();
    const hook = await seed.hook(target.url);
    const bad = await seed.webhooks(Array.from({ length: 10 }, () => hook));
    await seed.pool.query(`UPDATE delivery_job SET own = '{}' WHERE id = ANY($1)`, [bad]);
    const [fine] = await seed.webhooks([hook]);
    await seed.pool.query(`UPDATE delivery_lane SET next_at = 'infinity'`);
    let claimed = false;
    const worker = await startWorker(databaseUrl, {
      around: (queue) => ({
        claim: async (capacity) => {
          const claim = await queue.claim(capacity);
          claimed ||= claim.unreadable.length > 0;
          return claim;
        },
        // Asked before the outcomes are written, answered after: it must not be the last word.
        nextDue: async (known) => {
          const asked = await queue.nextDue(known);
          if (claimed) await waitUntil(async () => (await dead()) === 10, { what: 'ten dead' });
          return asked;
        },
      }),
    });
    await waitUntil(() => worker.statements() >= 3, { what: 'the looks of the start' });
    // One wake for all; the leases of the bad ones would end in 30 s.
    await seed.pool.query(`UPDATE delivery_lane SET next_at = now()`);
    await seed.pool.query(`SELECT pg_notify('ghost_delivery', '')`);
    const [request] = await target.waitForRequests(1, 5_000);
    expect(request?.headers['x-ghost-delivery']).toBe(fine);
  });
});
