// Classes of SQLSTATE that say "the server or the connection", not "this statement" (PostgreSQL, appendix A):
// 08 connection, 28 authorization (poolers at a failover), 40 rollback (deadlock, serialisation), 53 resources,
// 57 operator intervention (shutdown), 58 the server's own system (disk, files).
const OUTAGE_CLASSES = new Set(['08', '28', '40', '53', '57', '58']);
// 25006 read-only and 3D000 no such database: a failover under way. XX000: what poolers and servers say in trouble.
const OUTAGE_STATES = new Set(['25006', '3D000', 'XX000']);
// 57014 canceled, by the statement timeout: a statement that takes too long would take too long again.
const STATEMENT_STATES = new Set(['57014']);

// What node-postgres and the socket say when there is no SQLSTATE.
const OUTAGE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
]);
// Of a connect they are outages (a unix socket that is missing, no descriptor left); files know them too.
const CONNECT_CODES = new Set(['ENOENT', 'EACCES', 'EMFILE', 'ENFILE', 'ENOBUFS']);
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
const SQLSTATE = /^[0-9A-Z]{5}$/u;
const SQLSTATE_CLASS_LENGTH = 2;
const MOST_CAUSES = 8;

/** A connection that ended, told by a class of ours: the driver says it in message text only. */
export class DatabaseUnavailableError extends Error {
  override readonly name = 'DatabaseUnavailableError';
}

/** The SQLSTATE or socket code of an error, looked for along its causes. */
export function databaseErrorCode(error: unknown): string | undefined {
  return coded(error)?.code;
}

/** Whether an error is an outage of the database: nobody's fault, and worth trying again unchanged. */
export function isDatabaseOutage(error: unknown): boolean {
  const causes = causesOf(error);
  if (causes.some((at) => at instanceof DatabaseUnavailableError)) return true;
  const found = coded(error);
  if (found === undefined) return causes.some((at) => DRIVER_DISCONNECTS.has(at.message));
  const { code, syscall } = found;
  if (CONNECT_CODES.has(code)) return syscall === 'connect';
  // First, as EPIPE looks like a SQLSTATE.
  if (OUTAGE_CODES.has(code)) return true;
  if (!SQLSTATE.test(code) || STATEMENT_STATES.has(code)) return false;
  return OUTAGE_STATES.has(code) || OUTAGE_CLASSES.has(code.slice(0, SQLSTATE_CLASS_LENGTH));
}

/** Whether a lock was waited for longer than its `lock_timeout` (lock_not_available). */
export function isLockTimeout(error: unknown): boolean {
  return databaseErrorCode(error) === '55P03';
}

interface Coded {
  code: string;
  syscall: unknown;
}

function coded(error: unknown): Coded | undefined {
  for (const at of causesOf(error)) {
    const code: unknown = Reflect.get(at, 'code');
    if (typeof code === 'string') return { code, syscall: Reflect.get(at, 'syscall') };
    if (at instanceof AggregateError) {
      const inner = at.errors.map(coded).find((found) => found !== undefined);
      if (inner !== undefined) return inner;
    }
  }
  return undefined;
}

/** The error and what it says was its cause, outermost first. */
function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let at = error; at instanceof Error && causes.length < MOST_CAUSES; at = at.cause) {
    causes.push(at);
  }
  return causes;
}
