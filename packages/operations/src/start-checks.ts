import {
  databaseErrorCode,
  DatabaseVersionError,
  inClientTransaction,
  migrationState,
  type Pool,
} from '@ghost/db';
import type { Sql } from '@ghost/queue';
import { EXIT } from '@ghost/settings';
import type { KeyRing, VaultError } from '@ghost/vault';

import { describeDatabase, explainDatabaseTrouble } from './database-trouble.js';
import { faultOfSecret, LIVE_SECRETS } from './key-check.js';
import { StartError } from './start-error.js';

/** Access or syntax; of anything else, as a fail-over under way, more is known once the work begins. */
const REFUSED_CLASS = '42';
/** Enough to tell a wrong key from one damaged row. */
const SECRETS_TRIED = 5;

/**
 * Finds what would make all work of a process fail, before the first of it comes.
 * @throws StartError 69 when the database is out of reach, 78 when it is not of this version
 */
export async function checkDatabase(databaseUrl: string): Promise<void> {
  const where = describeDatabase(databaseUrl);
  const state = await migrationState(databaseUrl).catch((cause: unknown) => {
    if (cause instanceof DatabaseVersionError) {
      throw new StartError(EXIT.config, `${cause.message} (${where})`, { cause });
    }
    const trouble =
      explainDatabaseTrouble(cause, databaseUrl) ??
      `Cannot use the database ${where}. Check that Postgres runs and that DATABASE_URL is right.`;
    throw new StartError(EXIT.unavailable, trouble, { cause });
  });
  const [first] = state.pending;
  if (first === undefined) return;
  throw new StartError(
    EXIT.config,
    `The database ${where} lacks ${state.pending.length} migration(s) of this version, the first is "${first}". Run "npx ghost migrate", then start again.`,
  );
}

/**
 * Ends an empty transaction as all others: without the right to it each would be kept, and told as failed.
 * @throws StartError 78 when the database's user may not
 */
export async function checkCommit(pool: Pool, databaseUrl: string): Promise<void> {
  try {
    await inClientTransaction(pool, () => Promise.resolve());
  } catch (cause) {
    if (!databaseErrorCode(cause)?.startsWith(REFUSED_CLASS)) return;
    throw new StartError(
      EXIT.config,
      `The database ${describeDatabase(databaseUrl)} does not let its user wait for the disk: ${cause instanceof Error ? cause.message : String(cause)}. Grant it EXECUTE on the function pg_logical_emit_message.`,
      { cause },
    );
  }
}

/**
 * Finds a wrong key before it seals secrets that nobody else can open, or holds every hook.
 * @throws StartError 78 when none of the newest secrets opens
 */
export async function checkNewestSecrets(sql: Sql, ring: KeyRing): Promise<void> {
  const rows = await sql.query<{ hook_id: string; ciphertext: string }>(
    `${LIVE_SECRETS} ORDER BY id DESC LIMIT $1`,
    [SECRETS_TRIED],
  );
  const faults: (VaultError | null)[] = rows.map((row) => faultOfSecret(ring, row));
  const [newest] = faults;
  if (newest === undefined || newest === null || faults.includes(null)) return;
  throw new StartError(
    EXIT.config,
    `GHOST_SECRET_KEYS does not open the secrets in the database: ${newest.message}. Give the key that they were sealed with, after the new one if it was rotated.`,
    { cause: newest },
  );
}
