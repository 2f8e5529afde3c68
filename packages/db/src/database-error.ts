// Classes of SQLSTATE that say "the server or the connection", not "this statement" (PostgreSQL, appendix A):
// 08 connection, 40 rollback (deadlock, serialisation), 53 resources, 57 operator intervention (shutdown, cancel).
const OUTAGE_CLASSES = new Set(['08', '40', '53', '57']);

// What node-postgres and the socket say when there is no SQLSTATE.
const OUTAGE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
const SQLSTATE = /^[0-9A-Z]{5}$/u;

/** A connection that ended, told by a class of ours: the driver says it in message text only. */
export class DatabaseUnavailableError extends Error {
  override readonly name = 'DatabaseUnavailableError';
}

/** The SQLSTATE or socket code of an error, looked for along its causes. */
export function databaseErrorCode(error: unknown): string | undefined {
  for (
    let at: unknown = error, depth = 0;
    at instanceof Error && depth < 8;
    at = at.cause, depth += 1
  ) {
    const code: unknown = Reflect.get(at, 'code');
    if (typeof code === 'string') return code;
    if (at instanceof AggregateError) {
      const inner = at.errors.map(databaseErrorCode).find((found) => found !== undefined);
      if (inner !== undefined) return inner;
    }
  }
  return undefined;
}

/** Whether an error is an outage of the database: nobody's fault, and worth trying again unchanged. */
export function isDatabaseOutage(error: unknown): boolean {
  for (
    let at: unknown = error, depth = 0;
    at instanceof Error && depth < 8;
    at = at.cause, depth += 1
  ) {
    if (at instanceof DatabaseUnavailableError) return true;
  }
  const code = databaseErrorCode(error);
  if (code === undefined) return isDriverDisconnect(error);
  return OUTAGE_CODES.has(code) || (SQLSTATE.test(code) && OUTAGE_CLASSES.has(code.slice(0, 2)));
}

// node-postgres 8 gives these a message and no code; the texts are its own constants (pg/lib/client.js, pg-pool/index.js).
const DRIVER_DISCONNECTS = new Set([
  'Connection terminated',
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  'timeout expired',
  'timeout exceeded when trying to connect',
  'Query read timeout',
]);

function isDriverDisconnect(error: unknown): boolean {
  for (
    let at: unknown = error, depth = 0;
    at instanceof Error && depth < 8;
    at = at.cause, depth += 1
  ) {
    if (DRIVER_DISCONNECTS.has(at.message)) return true;
  }
  return false;
}
