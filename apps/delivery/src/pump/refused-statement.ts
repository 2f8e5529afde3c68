import { databaseErrorCode } from '@ghost/db';

// Classes of SQLSTATE that speak of what a statement says (PostgreSQL, appendix A): 22 data, 23 a
// constraint, 42 syntax, names or rights.
const REFUSED = /^(?:22|23|42)[0-9A-Z]{3}$/u;
// Thrown by our own code before anything is sent.
const PROGRAM_ERRORS = [TypeError, RangeError, ReferenceError, SyntaxError];

/**
 * Whether a statement can never be written as it is. All else (an outage, a failover, a code that
 * nobody thought of) may pass, so it is tried again: what was sent must not be forgotten for it.
 */
export function isRefusedStatement(error: unknown): boolean {
  const code = databaseErrorCode(error);
  if (code !== undefined && REFUSED.test(code)) return true;
  return PROGRAM_ERRORS.some((program) => error instanceof program);
}
