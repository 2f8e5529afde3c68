import { databaseErrorCode, DatabaseVersionError, migrationState, type Pool } from '@ghost/db';
import { EXIT, type Settings } from '@ghost/settings';
import { decrypt, hookSecretContext, type KeyRing, VaultError } from '@ghost/vault';

import { StartError } from './start-error.js';

// Enough to tell a wrong key from one damaged row.
const SECRETS_TRIED = 5;

/**
 * Finds what would make every request fail, before the first one comes.
 * @throws StartError 69 when the database is out of reach, 78 when it is not of this version
 */
export async function checkDatabase(settings: Settings): Promise<void> {
  const where = describeDatabase(settings.databaseUrl);
  const state = await migrationState(settings.databaseUrl).catch((cause: unknown) => {
    if (cause instanceof DatabaseVersionError) {
      throw new StartError(EXIT.config, `${cause.message} (${where})`, { cause });
    }
    throw new StartError(EXIT.unavailable, `Cannot use the database ${where}: ${explain(cause)}`, {
      cause,
    });
  });
  if (state.pending.length === 0) return;
  throw new StartError(
    EXIT.config,
    `The database ${where} lacks ${state.pending.length} migration(s) of this version, the first is "${state.pending[0]}". Run "npx ghost migrate", then start again.`,
  );
}

/**
 * Finds a wrong key before it seals new secrets that nobody else can open.
 * @throws StartError 78 when none of the newest secrets opens
 */
export async function checkKeys(pool: Pool, keyRing: KeyRing): Promise<void> {
  const { rows } = await pool.query<{ hook_id: string; ciphertext: string }>(
    'SELECT hook_id, ciphertext FROM hook_secret ORDER BY id DESC LIMIT $1',
    [SECRETS_TRIED],
  );
  const faults = rows.map(({ hook_id: hookId, ciphertext }) => {
    try {
      decrypt(keyRing, ciphertext, hookSecretContext(hookId));
      return null;
    } catch (error) {
      if (error instanceof VaultError) return error;
      throw error;
    }
  });
  const [newest] = faults;
  if (newest === undefined || newest === null || faults.includes(null)) return;
  throw new StartError(
    EXIT.config,
    `GHOST_SECRET_KEYS does not open the secrets in the database: ${newest.message}. Give the key that they were sealed with, after the new one if it was rotated.`,
    { cause: newest },
  );
}

/** `host:port/name` without user and password. */
export function describeDatabase(databaseUrl: string): string {
  const url = URL.canParse(databaseUrl) ? new URL(databaseUrl) : undefined;
  if (url === undefined) return '(DATABASE_URL)';
  const host = url.hostname === '' ? (url.searchParams.get('host') ?? 'localhost') : url.host;
  return `"${url.pathname.slice(1)}" at ${host}`;
}

function explain(error: unknown): string {
  const code = databaseErrorCode(error) ?? 'no answer in time';
  switch (code) {
    case 'ECONNREFUSED':
      return 'nothing listens there. Start Postgres, or correct DATABASE_URL.';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'its host name cannot be resolved. Correct the host in DATABASE_URL.';
    case '28P01':
    case '28000':
      return 'it refuses the user or password. Correct them in DATABASE_URL.';
    case '3D000':
      return 'there is no such database. Create it, or correct DATABASE_URL.';
    case '57P03':
      return 'it is starting up or shutting down. Try again in a moment.';
    default:
      return `it does not answer (${code}). Check that Postgres runs and that DATABASE_URL is right.`;
  }
}
