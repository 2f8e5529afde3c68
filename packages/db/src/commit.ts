import { databaseErrorCode, DatabaseUnavailableError, isDatabaseOutage } from './database-error.js';
import type { Connection } from './pool.js';

/**
 * The locks are given back before the disk has the transaction, and the answer waits for the disk: a NOTIFY locks the whole
 * server until its commit is over, so those that wake somebody were written one after the other (docs/decisions/0050).
 * A call and not SET LOCAL, which some poolers do not take beside other statements.
 */
const COMMIT =
  "SELECT set_config('synchronous_commit', 'off', true); COMMIT; SELECT pg_logical_emit_message(true, 'ghost', '')";
/** A statement failed before. */
const IN_FAILED_TRANSACTION = '25P02';
/**
 * What the last statement may fail with, when the commit is over (besides an outage): it may not be called, or was cancelled. Of
 * anything else COMMIT itself, with what was deferred to it.
 */
const AFTER_COMMIT = /^(?:42|57)/u;

/**
 * Commits what is open on a connection, and waits until it is on the disk. After an error other than that of a swallowed one the
 * connection must not be used again.
 * @throws DatabaseUnavailableError, or another outage, when nobody knows whether it was kept; else nothing was
 */
export async function commit(connection: Connection): Promise<void> {
  try {
    await connection.query(COMMIT);
  } catch (error) {
    const code = databaseErrorCode(error);
    if (code === IN_FAILED_TRANSACTION) {
      throw new Error(
        'Nothing was kept: a statement of the transaction failed and its error was swallowed, so nothing can be committed. Let the error out, or put the statement in a savepoint.',
        { cause: error },
      );
    }
    if (isDatabaseOutage(error) || !AFTER_COMMIT.test(code ?? '')) throw error;
    throw new DatabaseUnavailableError(
      `Nobody knows whether the transaction was kept, as waiting for the disk failed: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
}
