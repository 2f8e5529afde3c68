import { type Lock, LockHeldError, takeLock } from '../processes/lock.js';
import { PostgresStartError } from './postgres-start-error.js';

/**
 * Takes the data folder for this process; a lock of a dead process is taken over, and its Postgres may
 * still run and may be stopped.
 *
 * @throws {PostgresStartError} `data-folder-in-use` when a living process holds it;
 *   `data-folder-unusable` when nothing can be written beside it.
 */
export async function takeDataLock(dataDir: string): Promise<Lock> {
  const file = `${dataDir}.lock`;
  try {
    return await takeLock(file);
  } catch (cause) {
    if (!(cause instanceof LockHeldError)) {
      throw new PostgresStartError(
        'data-folder-unusable',
        `Could not write ${file}, beside the data of Postgres. Give this user the right to write there, or choose another folder.`,
        { cause },
      );
    }
    const { pid } = cause.owner;
    throw new PostgresStartError(
      'data-folder-in-use',
      `Process ${pid} already runs a Postgres on ${dataDir}. ` +
        `Stop that process first (Ctrl-C where it runs, or \`kill ${pid}\`).`,
      { cause },
    );
  }
}
