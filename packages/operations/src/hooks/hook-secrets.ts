import type { Sql } from '@ghost/queue';
import { generateSecret, standardForm } from '@ghost/signing';
import { decrypt, encrypt, hookSecretContext, type KeyRing, VaultError } from '@ghost/vault';

import { HookError, refuseHook } from './hook-error.js';

const HOUR_MS = 3_600_000;
export const DEFAULT_OVERLAP_HOURS = 24;
/** As long as a job lives: whatever was queued before is signed with both to its end. */
export const MAX_OVERLAP_HOURS = 168;
/** Each is one more signature in the request; receivers read a bounded number of them. */
const MAX_LIVE_SECRETS = 5;

const SAME = {
  field: 'secret',
  code: 'secret_in_use',
  message: 'The hook has this secret already. Give another, or leave it out to have one generated.',
};

/** A secret that was just set: shown by the one answer that set it. */
export interface SetSecret {
  /** Null when a person gave it. */
  generated: string | null;
  /** The `whsec_` form of one that has no such prefix, as stock libraries take no other; else null. */
  standard: string | null;
}

/** Stores the first or only secret of a hook: every other one ends at once. */
export async function storeOnlySecret(
  sql: Sql,
  ring: KeyRing,
  hookId: number,
  secret: string | null,
): Promise<SetSecret> {
  await sql.query('DELETE FROM hook_secret WHERE hook_id = $1', [hookId]);
  return storeSecret(sql, ring, hookId, secret);
}

export interface Rotation {
  /** Null: one is generated. */
  secret: string | null;
  /** How long the one before signs too; 0: it ends at once. */
  overlapHours: number;
}

export interface Rotated extends SetSecret {
  /** The old one signs too until then; null when none does. */
  oldSecretUntil: Date | null;
}

/**
 * Gives a locked hook a new secret. The ones before sign on until their overlap ends; one that cannot
 * be opened ends at once, as nothing could be sent beside it.
 * @throws HookError `bad_hook` for a secret that the hook has already, `too_many_secrets`
 */
export async function rotateSecret(
  sql: Sql,
  ring: KeyRing,
  hookId: number,
  { secret, overlapHours }: Rotation,
): Promise<Rotated> {
  const live = await liveSecrets(sql, ring, hookId);
  if (secret !== null) refuseHook(live.some(({ text }) => text === secret) ? [SAME] : []);
  const kept = overlapHours === 0 ? [] : live.filter(({ text }) => text !== null);
  if (kept.length >= MAX_LIVE_SECRETS) {
    throw new HookError(
      'too_many_secrets',
      `${kept.length} secrets of this hook are live. Wait until one ends, or rotate without an overlap, which ends all of them.`,
    );
  }
  const ids = kept.map(({ id }) => id);
  await sql.query('DELETE FROM hook_secret WHERE hook_id = $1 AND NOT id = ANY ($2::bigint[])', [
    hookId,
    ids,
  ]);
  // Those that end already keep their end: it was promised to their receivers.
  const ends = await sql.query<{ expires_at: Date }>(
    `UPDATE hook_secret SET expires_at = coalesce(expires_at, now() + $2 * interval '1 millisecond')
     WHERE hook_id = $1 RETURNING expires_at`,
    [hookId, overlapHours * HOUR_MS],
  );
  const set = await storeSecret(sql, ring, hookId, secret);
  const last = ends.map(({ expires_at }) => new Date(expires_at).getTime());
  return { ...set, oldSecretUntil: last.length === 0 ? null : new Date(Math.max(...last)) };
}

/** Writes when the secret was changed, and how long the one before signs. */
export async function noteSecretChange(
  sql: Sql,
  hookId: number,
  oldSecretUntil: Date | null,
): Promise<void> {
  await sql.query(
    `UPDATE hook SET secret_changed_at = now(), updated_at = now(),
       old_secret_until = greatest(now(), $2::timestamptz)
     WHERE id = $1`,
    [hookId, oldSecretUntil?.toISOString() ?? null],
  );
}

async function storeSecret(
  sql: Sql,
  ring: KeyRing,
  hookId: number,
  given: string | null,
): Promise<SetSecret> {
  const secret = given ?? generateSecret();
  // By the clock, not by when the transaction began: it may have waited for the lock behind a rotation that
  // began later, and the newest secret is the one that signs alone where there is room for one.
  await sql.query(
    `INSERT INTO hook_secret (hook_id, ciphertext, created_at) VALUES ($1, $2, clock_timestamp())`,
    [hookId, encrypt(ring, secret, hookSecretContext(hookId))],
  );
  const standard = standardForm(secret);
  return {
    generated: given === null ? secret : null,
    standard: standard === secret ? null : standard,
  };
}

/** Live secrets with their text; null where it cannot be opened. */
async function liveSecrets(sql: Sql, ring: KeyRing, hookId: number) {
  const rows = await sql.query<{ id: string; ciphertext: string }>(
    'SELECT id, ciphertext FROM hook_secret WHERE hook_id = $1 AND (expires_at IS NULL OR expires_at > now())',
    [hookId],
  );
  return rows.map(({ id, ciphertext }) => ({ id, text: openSecret(ring, hookId, ciphertext) }));
}

function openSecret(ring: KeyRing, hookId: number, ciphertext: string): string | null {
  try {
    return decrypt(ring, ciphertext, hookSecretContext(hookId));
  } catch (error) {
    if (error instanceof VaultError) return null;
    throw error;
  }
}
