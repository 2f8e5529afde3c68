import { inTransaction } from '@ghost/db';
import { listHooks, lockHookById, rotateHookSecret } from '@ghost/operations';
import { sqlOf } from '@ghost/queue';
import { verifyWebhook } from '@ghost/signing';
import { beforeEach, expect, test } from 'vitest';

import { type DeliverySeed, keyRing } from '../../../test/support/delivery-seed.js';
import {
  allDelivered,
  seededDatabase,
  startWorker,
} from '../../../test/support/delivery-worker.js';
import { receiver } from '../../../test/support/servers-of-a-test.js';
import { waitUntil } from '../../../test/support/wait-until.js';

const OLD = 'the old secret';
const NEW = 'the new secret';

let databaseUrl: string;
let seed: DeliverySeed;
beforeEach(async () => {
  ({ databaseUrl, seed } = await seededDatabase());
});

const rotate = (id: number) =>
  inTransaction(seed.pool, async (tx) => {
    const { repository, ...hook } = await lockHookById(sqlOf(tx), id);
    const at = { hook, repository, actor: null, ring: keyRing() };
    await rotateHookSecret(tx, at, { secret: NEW, overlapHours: 24 });
  });

/** As if the overlap ended just now. */
async function endOverlap(id: number): Promise<void> {
  await seed.pool.query(
    `UPDATE hook_secret SET created_at = now() - interval '1 day', expires_at = now()
     WHERE hook_id = $1 AND expires_at IS NOT NULL`,
    [id],
  );
  await seed.pool.query(
    `UPDATE hook SET secret_changed_at = now() - interval '1 day', old_secret_until = now() WHERE id = $1`,
    [id],
  );
}

const hintOf = async (id: number) => (await listHooks(seed.pool, { id }))[0]?.oldSecretHint ?? null;

test('both secrets sign until the overlap ends, then the new one alone', async () => {
  const target = await receiver();
  const hook = await seed.hook(target.url, { secrets: [OLD] });
  await rotate(hook);
  await startWorker(databaseUrl);
  await seed.webhooks([hook]);
  await target.waitForRequests(1);
  await endOverlap(hook);
  await seed.webhooks([hook]);
  const [both, one] = await target.waitForRequests(2);
  const signatures = (request = both) => [
    String(request?.headers['webhook-signature']).split(' ').length,
    String(request?.headers['x-ghost-signature']).split('v1=').length - 1,
  ];
  expect([signatures(both), signatures(one)]).toEqual([
    [2, 2],
    [1, 1],
  ]);
  const verify = (request: typeof both, secret: string) => () =>
    verifyWebhook({ headers: request?.headers ?? {}, body: request?.body ?? '', secret });
  expect(verify(both, OLD)).not.toThrow();
  expect(verify(both, NEW)).not.toThrow();
  expect(verify(one, OLD)).toThrow('No signature fits');
  expect(verify(one, NEW)).not.toThrow();
  await allDelivered(seed);
});

test('a receiver that keeps the old secret is hinted at when that ends, until it has the new one', async () => {
  let known = OLD;
  const target = await receiver(({ headers, body }) => {
    try {
      verifyWebhook({ headers, body, secret: known });
      return 204;
    } catch {
      return 401;
    }
  });
  const hook = await seed.hook(target.url, { secrets: [OLD] });
  await startWorker(databaseUrl, { retryBaseMs: 500, maxAttempts: 100 });
  await seed.webhooks([hook], { fresh: true });
  await allDelivered(seed);
  await rotate(hook);
  await seed.webhooks([hook], { fresh: true });
  await allDelivered(seed);
  expect(await hintOf(hook)).toBeNull();

  await endOverlap(hook);
  expect(await hintOf(hook)).toBeNull();
  await seed.webhooks([hook], { fresh: true });
  const hint = await waitUntil(async () => (await hintOf(hook)) ?? undefined, { what: 'a hint' });
  expect(hint).toMatch(/^The endpoint answers 401 .*It seems to verify with the old one still/u);

  known = NEW;
  await allDelivered(seed);
  expect(await hintOf(hook)).toBeNull();
});
