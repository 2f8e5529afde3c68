import path from 'node:path';

import { createPool, DatabaseVersionError, migrate, type Pool } from '@ghost/db';
import { checkKeys, explainDatabaseTrouble } from '@ghost/operations';
import { EXIT, type Settings } from '@ghost/settings';
import { parseKeyRing } from '@ghost/vault';

import { ChildDiedError } from '../processes/children.js';
import { openLineLog } from '../processes/line-log.js';
import { PlaygroundError } from '../playground-error.js';
import { POSTGRES_FOLDER } from '../claim-folder.js';
import { type PostgresPart, startPostgres } from '../postgres.js';
import type { StartParts } from './start-parts.js';

const POOL_SIZE = 4;
const PARTS: Record<PostgresPart, string> = {
  data: 'Making the data of Postgres (the first start only; some seconds)',
  server: 'Starting Postgres',
};

/** Starts Postgres, or takes the one of DATABASE_URL, and brings it to this version's schema. */
export async function startDatabase(
  parts: StartParts,
  settings: Settings<'playground'>,
  secretKeys: string,
  logs: string,
): Promise<{ databaseUrl: string; pool: Pool }> {
  const databaseUrl = await openDatabase(parts, settings, logs);
  parts.halt.check();
  await parts.step('Bringing the tables to this version', () => migrateDatabase(databaseUrl));
  const pool = createPool({
    connectionString: databaseUrl,
    name: 'ghost playground',
    max: POOL_SIZE,
    onError: () => undefined,
  });
  parts.stack.add('connections', () => pool.end());
  await requireReadableSecrets(pool, secretKeys, settings.databaseUrl === null);
  return { databaseUrl, pool };
}

async function openDatabase(
  { options, halt, stack, step }: StartParts,
  settings: Settings<'playground'>,
  logs: string,
): Promise<string> {
  if (settings.databaseUrl !== null) return settings.databaseUrl;
  const log = openLineLog(path.join(logs, 'postgres.log'));
  const postgres = await startPostgres({
    dataDir: path.join(options.folder, POSTGRES_FOLDER),
    log: (line) => log.write(line),
    during: (part, work) => step(PARTS[part], work),
  });
  let stopping = false;
  stack.add('Postgres', async () => {
    stopping = true;
    await postgres.stop();
    log.close();
  });
  void postgres.exited.then((end) => {
    if (stopping) return;
    halt.stop({ kind: 'failed', error: new ChildDiedError('Postgres', end, log.lastLines()) });
  });
  return postgres.url;
}

async function migrateDatabase(databaseUrl: string): Promise<void> {
  try {
    await migrate(databaseUrl);
  } catch (cause) {
    const old = cause instanceof DatabaseVersionError;
    const trouble = old ? cause.message : explainDatabaseTrouble(cause, databaseUrl);
    if (trouble === null) throw cause;
    const way = 'Or unset DATABASE_URL: the playground then starts a Postgres of its own.';
    const exitCode = old ? EXIT.config : EXIT.unavailable;
    throw new PlaygroundError(exitCode, `${trouble}\n${way}`, { cause });
  }
}

/** A key ring that cannot open what the database holds would hold every webhook. */
async function requireReadableSecrets(
  pool: Pool,
  secretKeys: string,
  embedded: boolean,
): Promise<void> {
  const parsed = parseKeyRing(secretKeys);
  if (!parsed.ok)
    throw new PlaygroundError(EXIT.config, `GHOST_SECRET_KEYS ${parsed.faults.join('; ')}.`);
  const check = await checkKeys(pool, parsed.ring);
  const first = check.listed[0];
  if (!first) return;
  const way = embedded ? 'or start anew: npm start -- --reset' : 'or use another database.';
  throw new PlaygroundError(
    EXIT.config,
    `The key ring opens ${check.secrets - check.unreadable} of ${check.secrets} webhook secrets in the database: ${first.message}.\n` +
      `Put the earlier key back (GHOST_SECRET_KEYS, or the file "keys" in the playground's folder), ${way}`,
  );
}
