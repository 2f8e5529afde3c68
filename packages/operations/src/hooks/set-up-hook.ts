import type { Transaction } from '@ghost/db';
import { hookLane, type Queue, sqlOf } from '@ghost/queue';
import type { KeyRing } from '@ghost/vault';

import { changedHeaders } from './hook-headers.js';
import { type SetSecret, storeOnlySecret } from './hook-secrets.js';
import type { HeaderChanges } from './judge-hook.js';

const NO_HEADERS = { headerNames: [], headersCiphertext: null };

/**
 * Gives a hook that was just inserted its secret and its headers, which are sealed to its id, and its lane its rate.
 * @param given.secret - null: one is generated
 * @throws HookError `bad_hook` for headers too many or too long in all
 */
export async function setUpHook(
  tx: Transaction,
  queue: Queue,
  ring: KeyRing,
  hookId: number,
  given: { secret: string | null; headers: HeaderChanges; rateLimit: number | null },
): Promise<SetSecret & { headerNames: string[] }> {
  const sql = sqlOf(tx);
  const headers = changedHeaders(ring, hookId, NO_HEADERS, given.headers);
  if (headers !== null) {
    await sql.query('UPDATE hook SET header_names = $2, headers_ciphertext = $3 WHERE id = $1', [
      hookId,
      headers.headerNames,
      headers.headersCiphertext,
    ]);
  }
  if (given.rateLimit !== null) await queue.limitRate(sql, hookLane(hookId), given.rateLimit);
  const set = await storeOnlySecret(sql, ring, hookId, given.secret);
  return { ...set, headerNames: headers?.headerNames ?? [] };
}
