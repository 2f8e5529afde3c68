import { inTransaction } from '@ghost/db';
import {
  checkKeys,
  listHooks,
  listLanes,
  lockHookById,
  resumeHookAsOperator,
  rotateHookSecret,
} from '@ghost/operations';
import { createPostgresQueue, sqlOf } from '@ghost/queue';
import { verifyWebhook } from '@ghost/signing';
import { encrypt, generateKeyEntry, hookSecretContext, parseKeyRing } from '@ghost/vault';
import { beforeEach, expect, test } from 'vitest';

import { type DeliverySeed, keyRing, SEED_SECRET } from '../../../test/support/delivery-seed.js';
import {
  allDelivered,
  seededDatabase,
  startWorker,
} from '../../../test/support/delivery-worker.js';
import { receiver } from '../../../test/support/servers-of-a-test.js';
import { waitUntil } from '../../../test/support/wait-until.js';

let databaseUrl: string;
let seed: DeliverySeed;
beforeEach(async () => {
  ({ databaseUrl, seed } = await seededDatabase());
});

function lostRing() {
  const parsed = parseKeyRing(generateKeyEntry('lost'));
  if (!parsed.ok) throw new Error(parsed.faults.join());
  return parsed.ring;
}

/** Seals a hook's secrets, or the oldest of them, with a key that no process has. */
async function lose(hookId: number, which: 'all' | 'oldest' = 'all'): Promise<void> {
  const sealed = encrypt(lostRing(), SEED_SECRET, hookSecretContext(hookId));
  await seed.pool.query(
    `UPDATE hook_secret SET ciphertext = $2 WHERE hook_id = $1
       AND ($3 OR id = (SELECT min(id) FROM hook_secret WHERE hook_id = $1))`,
    [hookId, sealed, which === 'all'],
  );
}

const heldHook = async (id: number) => (await listHooks(seed.pool, { id }))[0]?.held ?? undefined;

test('with a wrong key ring nothing is sent unsigned: the hook is held, visibly, and sends all once it has a secret', async () => {
  const target = await receiver();
  const hook = await seed.hook(target.url);
  await seed.webhooks([hook, hook, hook]);
  await lose(hook);
  const worker = await startWorker(databaseUrl);
  const held = await waitUntil(() => heldHook(hook), { what: 'the hook to be held' });
  expect(held).toMatchObject({
    code: 'secret_unreadable',
    message: expect.stringContaining('nothing is sent unsigned') as unknown,
  });
  expect(await listLanes(seed.pool, { held: true })).toMatchObject([
    { lane: `hook:${hook}`, pending: 3, heldReason: 'secret_unreadable' },
  ]);
  expect(await checkKeys(seed.pool, keyRing())).toMatchObject({
    unreadable: 1,
    listed: [{ hookId: hook, code: 'unknown_key' }],
  });
  // The operator's log says which fault it was; nobody is charged for it.
  expect(JSON.stringify(worker.lines)).toContain('unknown_key');
  const charged = (await seed.jobs()).map(({ attempts, tries }) => attempts + tries);
  expect(charged).toEqual([0, 0, 0]);
  const other = await receiver();
  await seed.webhooks([await seed.hook(other.url), hook]);
  await other.waitForRequests(1);
  expect(target.requests()).toHaveLength(0);

  const { generated } = await inTransaction(seed.pool, async (tx) => {
    const { repository, ...settings } = await lockHookById(sqlOf(tx), hook);
    const at = { hook: settings, repository, actor: null, ring: keyRing() };
    return rotateHookSecret(tx, at, { secret: null, overlapHours: 24 });
  });
  await resumeHookAsOperator(seed.pool, createPostgresQueue({ pool: seed.pool }), hook);
  await allDelivered(seed);
  expect(target.requests()).toHaveLength(4);
  for (const { headers, body } of target.requests()) {
    expect(() => verifyWebhook({ headers, body, secret: generated ?? '' })).not.toThrow();
  }
});

test('a rotation of which one secret cannot be read is held too: half of the receivers would refuse it', async () => {
  const target = await receiver();
  const hook = await seed.hook(target.url, { secrets: [SEED_SECRET, 'the newer one'] });
  await lose(hook, 'oldest');
  await seed.webhooks([hook]);
  await startWorker(databaseUrl);
  await waitUntil(() => heldHook(hook), { what: 'the hook to be held' });
  expect(target.requests()).toHaveLength(0);
});
