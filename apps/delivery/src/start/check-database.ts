import { databaseErrorCode, DatabaseVersionError, migrationState } from '@ghost/db';
import type { Sql } from '@ghost/queue';
import { EXIT } from '@ghost/settings';
import { decrypt, hookSecretContext, type KeyRing, VaultError } from '@ghost/vault';

import { StartError } from './start-error.js';

/** Enough to tell a wrong key from one damaged row. */
const SECRETS_TRIED = 5;

/** @throws StartError: 69 when the database is out of reach, 78 when it is not of this version */
export async function checkDatabase(databaseUrl: string): Promise<void> {
  const where = placeOf(databaseUrl);
  const state = await migrationState(databaseUrl).catch((cause: unknown) => {
    if (cause instanceof DatabaseVersionError) {
      throw new StartError(EXIT.config, `${cause.message} (${where})`, { cause });
    }
    throw new StartError(
      EXIT.unavailable,
      `Cannot use the database ${where}: ${explain(databaseErrorCode(cause))}`,
      { cause },
    );
  });
  const [first] = state.pending;
  if (first === undefined) return;
  throw new StartError(
    EXIT.config,
    `The database ${where} lacks ${state.pending.length} migration(s) of this version, the first is "${first}". Run "npx ghost migrate", then start again.`,
  );
}

/** @throws StartError: 78 when none of the newest secrets opens; a worker with a wrong key would hold every hook */
export async function checkKeys(sql: Sql, keyRing: KeyRing): Promise<void> {
  const rows = await sql.query<{ hook_id: string; ciphertext: string }>(
    'SELECT hook_id, ciphertext FROM hook_secret ORDER BY id DESC LIMIT $1',
    [SECRETS_TRIED],
  );
  const faults = rows.map((row) => faultOf(keyRing, row.ciphertext, row.hook_id));
  const [newest] = faults;
  if (!newest || faults.includes(undefined)) return;
  throw new StartError(
    EXIT.config,
    `GHOST_SECRET_KEYS does not open the secrets in the database: ${newest.message}. Give the key that they were sealed with, after the new one if it was rotated.`,
    { cause: newest },
  );
}

function faultOf(keyRing: KeyRing, ciphertext: string, hookId: string): VaultError | undefined {
  try {
    decrypt(keyRing, ciphertext, hookSecretContext(hookId));
    return undefined;
  } catch (error) {
    if (error instanceof VaultError) return error;
    throw error;
  }
}

/** `"name" at host:port`, without user and password. */
function placeOf(databaseUrl: string): string {
  if (!URL.canParse(databaseUrl)) return 'of DATABASE_URL';
  const { pathname, host, searchParams } = new URL(databaseUrl);
  return `"${pathname.slice(1)}" at ${host === '' ? (searchParams.get('host') ?? 'localhost') : host}`;
}

function explain(code: string | undefined): string {
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
    case undefined:
    default:
      return `it does not answer (${code ?? 'no answer in time'}). Check that Postgres runs and that DATABASE_URL is right.`;
  }
}
