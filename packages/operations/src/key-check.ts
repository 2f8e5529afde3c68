import type { Pool } from '@ghost/db';
import {
  decrypt,
  hookSecretContext,
  type KeyRing,
  VaultError,
  type VaultErrorCode,
} from '@ghost/vault';

const PAGE_SIZE = 500;
/** More than a person needs to see what is wrong. */
const MAX_LISTED = 20;

export interface UnreadableSecret {
  hookId: number;
  code: VaultErrorCode;
  /** Names key ids at most. */
  message: string;
}

export interface KeyCheck {
  secrets: number;
  unreadable: number;
  /** The first of them. */
  listed: UnreadableSecret[];
}

/** Opens every secret at rest with a key ring, and tells which it cannot; no secret is kept or returned. */
export async function checkKeys(pool: Pool, ring: KeyRing): Promise<KeyCheck> {
  const check: KeyCheck = { secrets: 0, unreadable: 0, listed: [] };
  let after = 0;
  for (;;) {
    const { rows } = await pool.query<{ id: string; hook_id: string; ciphertext: string }>(
      'SELECT id, hook_id, ciphertext FROM hook_secret WHERE id > $1 ORDER BY id LIMIT $2',
      [after, PAGE_SIZE],
    );
    for (const row of rows) {
      check.secrets += 1;
      const fault = faultOfSecret(ring, row.hook_id, row.ciphertext);
      if (!fault) continue;
      check.unreadable += 1;
      if (check.listed.length < MAX_LISTED) {
        check.listed.push({
          hookId: Number(row.hook_id),
          code: fault.code,
          message: fault.message,
        });
      }
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE_SIZE) return check;
    after = Number(last.id);
  }
}

/** Why a secret at rest does not open with a key ring; null when it does. */
export function faultOfSecret(
  ring: KeyRing,
  hookId: string,
  ciphertext: string,
): VaultError | null {
  try {
    decrypt(ring, ciphertext, hookSecretContext(hookId));
    return null;
  } catch (error) {
    if (error instanceof VaultError) return error;
    throw error;
  }
}
