import { databaseErrorCode, isDatabaseOutage } from '@ghost/db';
import { parseUrl } from '@ghost/policy';

/** Name, host and port of a database; never user or password. */
export function describeDatabase(databaseUrl: string): string {
  const url = parseUrl(databaseUrl);
  if (url === null) return 'that DATABASE_URL names';
  const host = url.hostname === '' ? (url.searchParams.get('host') ?? 'localhost') : url.host;
  return `"${decodeURIComponent(url.pathname.slice(1))}" at ${host}`;
}

/**
 * One sentence for the person at the terminal about a database that cannot be used, with what to do.
 * @returns null when the error says nothing of the kind
 */
export function explainDatabaseTrouble(error: unknown, databaseUrl: string): string | null {
  const cause = causeOf(error);
  return cause === null
    ? null
    : `Cannot use the database ${describeDatabase(databaseUrl)}: ${cause}`;
}

function causeOf(error: unknown): string | null {
  const code = databaseErrorCode(error);
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
    case '42501':
      return 'the user of DATABASE_URL lacks a permission there. Give it the right, or use another user.';
    case undefined:
    default:
      if (!isDatabaseOutage(error)) return null;
      return `it does not answer (${code ?? 'no answer in time'}). Check that Postgres runs and that DATABASE_URL is right.`;
  }
}
