import type { Pool } from '@ghost/db';
import {
  decrypt,
  hookSecretContext,
  type KeyRing,
  openHookHeaders,
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

interface Sealed {
  id: string;
  hook_id: string;
  ciphertext: string;
}

/** What ended is never opened again. */
export const LIVE_SECRETS = `
  SELECT id, hook_id, ciphertext FROM hook_secret WHERE (expires_at IS NULL OR expires_at > now())`;
const SEALED_HEADERS = `
  SELECT id, id AS hook_id, headers_ciphertext AS ciphertext FROM hook WHERE headers_ciphertext IS NOT NULL`;

/**
 * Opens every secret at rest with a key ring, and tells which it cannot; the custom headers of a hook
 * count as one. No secret is kept or returned.
 */
export async function checkKeys(pool: Pool, ring: KeyRing): Promise<KeyCheck> {
  const check: KeyCheck = { secrets: 0, unreadable: 0, listed: [] };
  await checkAll(pool, LIVE_SECRETS, check, (row) => faultOfSecret(ring, row));
  await checkAll(pool, SEALED_HEADERS, check, (row) =>
    faultOf(() => openHookHeaders(ring, row.hook_id, row.ciphertext)),
  );
  return check;
}

async function checkAll(
  pool: Pool,
  select: string,
  check: KeyCheck,
  faultIn: (row: Sealed) => VaultError | null,
): Promise<void> {
  let after = '0';
  for (;;) {
    const { rows } = await pool.query<Sealed>(
      `${select} AND id > $1 ORDER BY id LIMIT ${PAGE_SIZE}`,
      [after],
    );
    for (const row of rows) {
      check.secrets += 1;
      const fault = faultIn(row);
      if (!fault) continue;
      check.unreadable += 1;
      if (check.listed.length >= MAX_LISTED) continue;
      const { code, message } = fault;
      check.listed.push({ hookId: Number(row.hook_id), code, message });
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE_SIZE) return;
    after = last.id;
  }
}

/** Why a secret at rest does not open with a key ring; null when it does. */
export function faultOfSecret(
  ring: KeyRing,
  { hook_id: hookId, ciphertext }: Pick<Sealed, 'hook_id' | 'ciphertext'>,
): VaultError | null {
  return faultOf(() => decrypt(ring, ciphertext, hookSecretContext(hookId)));
}

function faultOf(open: () => unknown): VaultError | null {
  try {
    open();
    return null;
  } catch (error) {
    if (error instanceof VaultError) return error;
    throw error;
  }
}
