import { databaseErrorCode, DatabaseVersionError } from '@ghost/db';
import { AccountError, explainDatabaseTrouble, HookError, ReplayError } from '@ghost/operations';
import { EXIT, SettingsError } from '@ghost/settings';

import { CommandError } from './command-error.js';

// Tables, columns and functions that the database lacks.
const SCHEMA_CODES = new Set(['42P01', '42703', '42883']);

export interface Explained {
  exitCode: number;
  message: string;
}

/** What to tell the person, and the exit code, for whatever a command threw. */
export function explainError(error: unknown, databaseUrl: string | undefined): Explained {
  if (error instanceof CommandError || error instanceof SettingsError) {
    return { exitCode: error.exitCode, message: error.message };
  }
  if (error instanceof AccountError || error instanceof HookError || error instanceof ReplayError) {
    return { exitCode: EXIT.failed, message: error.message };
  }
  if (error instanceof DatabaseVersionError)
    return { exitCode: EXIT.config, message: error.message };
  const code = databaseErrorCode(error);
  if (code !== undefined && SCHEMA_CODES.has(code)) {
    return {
      exitCode: EXIT.config,
      message: 'The database lacks tables of this version. Run: npx ghost migrate',
    };
  }
  const trouble = explainDatabaseTrouble(error, databaseUrl ?? '');
  if (trouble !== null) return { exitCode: EXIT.unavailable, message: trouble };
  return { exitCode: EXIT.failed, message: `It failed: ${messageOf(error)}` };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
