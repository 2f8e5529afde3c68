import { generateKeyEntry, parseKeyRing, sealHookHeaders } from '@ghost/vault';
import { beforeEach, expect, test } from 'vitest';

import { type DeliverySeed, keyRing } from '../../../test/support/delivery-seed.js';
import {
  allDelivered,
  seededDatabase,
  startWorker,
  statuses,
} from '../../../test/support/delivery-worker.js';
import { receiver, secureReceiver } from '../../../test/support/servers-of-a-test.js';
import { waitUntil } from '../../../test/support/wait-until.js';

let databaseUrl: string;
let seed: DeliverySeed;
beforeEach(async () => {
  ({ databaseUrl, seed } = await seededDatabase());
});

async function giveHeaders(hook: number, ring = keyRing()) {
  const headers = [
    ['Authorization', 'Bearer of-nobody-else'],
    ['accept', 'text/plain'],
    // Allowed when it was saved, say.
    ['x-ghost-event', 'forged'],
  ] as const;
  await seed.pool.query(
    `UPDATE hook SET headers_ciphertext = $2, header_names = '{x}' WHERE id = $1`,
    [hook, sealHookHeaders(ring, hook, headers)],
  );
}

test('a hook’s own headers go out below ours, and history keeps their names alone', async () => {
  const target = await receiver();
  const hook = await seed.hook(target.url);
  await giveHeaders(hook);
  await seed.webhooks([hook]);
  await startWorker(databaseUrl);
  await target.waitForRequests(1);
  await allDelivered(seed);
  expect(target.requests()[0]?.headers).toMatchObject({
    authorization: 'Bearer of-nobody-else',
    accept: 'text/plain',
    'x-ghost-event': 'comment.created',
  });
  const { rows } = await seed.pool.query('SELECT request_head FROM delivery_attempt');
  expect(rows).toMatchObject([
    { request_head: { authorization: '[redacted]', accept: '[redacted]' } },
  ]);
  expect(JSON.stringify(rows)).not.toContain('of-nobody-else');
});

test('what a receiver echoes of them is in no history either', async () => {
  const target = await receiver(({ headers }) => ({
    status: 200,
    headers: { 'x-echo': String(headers['authorization']) },
    body: JSON.stringify(headers),
  }));
  const hook = await seed.hook(target.url);
  await giveHeaders(hook);
  await seed.webhooks([hook]);
  await startWorker(databaseUrl);
  await allDelivered(seed);
  const { rows } = await seed.pool.query('SELECT * FROM delivery_attempt');
  expect(JSON.stringify(rows)).not.toContain('of-nobody-else');
  expect(JSON.stringify(rows)).toContain('[redacted]');
});

test('headers that no key opens hold the lane: nothing is sent without them', async () => {
  const target = await receiver();
  const hook = await seed.hook(target.url);
  const foreign = parseKeyRing(generateKeyEntry('foreign'));
  if (!foreign.ok) throw new Error('no ring');
  await giveHeaders(hook, foreign.ring);
  await seed.webhooks([hook]);
  await startWorker(databaseUrl);
  await waitUntil(async () => (await seed.jobs())[0]?.lastError === 'secret_unreadable', {
    what: 'the lane to be held',
  });
  expect(await statuses(seed)).toEqual(['pending']);
  expect(target.requests()).toHaveLength(0);
});

test('insecure_ssl takes any certificate, of its hook alone', async () => {
  const target = await secureReceiver();
  const url = `https://127.0.0.1:${target.port}/`;
  const [strict, lax] = [await seed.hook(url), await seed.hook(url)];
  await seed.pool.query('UPDATE hook SET insecure_ssl = true WHERE id = $1', [lax]);
  await seed.webhooks([lax, strict]);
  await startWorker(databaseUrl, { retryBaseMs: 60_000 });
  const attempts = await waitUntil(
    async () => {
      const all = await seed.attempts();
      return all.length === 2 ? all : undefined;
    },
    { what: 'both attempts' },
  );
  expect(attempts.map(({ reason }) => reason ?? 'delivered').toSorted()).toEqual([
    'delivered',
    'tls_self_signed',
  ]);
  expect(target.heads).toHaveLength(1);
});
