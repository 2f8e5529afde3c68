import { EXIT, SettingsError } from '@ghost/settings';

import { ChildDiedError, describeEnd } from './processes/children.js';
import { PlaygroundError } from './playground-error.js';
import type { PostgresStartFailure } from './embedded/postgres-start-error.js';
import { PostgresStartError } from './postgres.js';

export interface Failure {
  exitCode: number;
  /** One message for the person at the terminal, with what to do. */
  message: string;
}

const SHOWN_LINES = 8;
const DEEPEST_CAUSE = 5;
const HELPED_BY_RESET = new Set<PostgresStartFailure>([
  'data-folder-foreign',
  'stopped-while-starting',
]);
const START_EMPTY = 'To start with an empty database: npm start -- --reset';

/** What to say and to exit with for whatever went wrong. */
export function explainFailure(error: unknown): Failure {
  if (error instanceof PlaygroundError) {
    return { exitCode: error.exitCode, message: error.message };
  }
  if (error instanceof SettingsError) return { exitCode: error.exitCode, message: error.message };
  if (error instanceof PostgresStartError) {
    const way = HELPED_BY_RESET.has(error.reason) ? `\n${START_EMPTY}` : '';
    return { exitCode: EXIT.unavailable, message: `${error.message}${way}` };
  }
  if (error instanceof ChildDiedError) return explainDeath(error);
  return { exitCode: EXIT.failed, message: `The playground failed: ${withCauses(error)}` };
}

/** A child that says by its code what is wrong (78, 69) is believed. */
function explainDeath(error: ChildDiedError): Failure {
  const { code } = error.end;
  const told = code === EXIT.config || code === EXIT.unavailable;
  const lines = error.lastLines.slice(-SHOWN_LINES).map((line) => `  ${readable(line)}`);
  return {
    exitCode: told ? code : EXIT.failed,
    message: [
      `The ${error.child} process ended by itself (${describeEnd(error.end)}); everything else is stopped too. Its last lines:`,
      ...(lines.length > 0 ? lines : ['  (none)']),
    ].join('\n'),
  };
}

/** A JSON log line as a person reads it. */
function readable(line: string): string {
  try {
    const entry = JSON.parse(line) as {
      event?: unknown;
      msg?: unknown;
      err?: { message?: unknown };
    };
    const parts = [entry.event, entry.msg, entry.err?.message].filter(
      (part) => typeof part === 'string',
    );
    return parts.length > 0 ? parts.join(': ') : line;
  } catch {
    return line;
  }
}

function withCauses(error: unknown): string {
  const messages: string[] = [];
  for (let at = error, depth = 0; at instanceof Error && depth < DEEPEST_CAUSE; depth += 1) {
    if (at.message !== '') messages.push(at.message);
    at = at.cause;
  }
  return messages.length > 0 ? messages.join('; because ') : 'for no reason that it tells.';
}
