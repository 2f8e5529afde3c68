import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

import { settledWithin } from '../processes/settled-within.js';
import { PostgresStartError, type PostgresStartFailure } from './postgres-start-error.js';

const LOG_LINES_KEPT = 20;
/** After a program's end its output is read to the end, unless a child of it still holds it open. */
const DRAIN_WITHIN_MS = 1_000;

/** How a program ended; both null when it could not be started at all. */
export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Waits for the end of a program and of its output. Never rejects. */
export async function whenEnded(child: ChildProcess): Promise<ProgramEnd> {
  const drained = new Promise((resolve) => child.once('close', resolve));
  const end = await new Promise<ProgramEnd>((resolve) => {
    child.once('error', () => resolve({ code: null, signal: null }));
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  await settledWithin(drained, DRAIN_WITHIN_MS);
  return end;
}

/** Reads both outputs to the end and keeps the last lines; the array returned grows and shifts. */
export function collectLines(child: ChildProcess, log?: (line: string) => void): readonly string[] {
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      if (lines.length > LOG_LINES_KEPT) lines.shift();
      log?.(line);
    });
  }
  return lines;
}

/** An error that shows the last lines a program wrote, and says what to do. */
export function startFailure(
  reason: PostgresStartFailure,
  what: string,
  log: readonly string[],
  advice: readonly string[],
): PostgresStartError {
  const words = log.length === 0 ? ['  (nothing)'] : log.map((line) => `  ${line}`);
  return new PostgresStartError(
    reason,
    [`${what}. Its last words:`, ...words, ...advice].join('\n'),
  );
}
