import { readSettings } from '../../packages/settings/src/read-settings.js';
import { SettingsError } from '../../packages/settings/src/settings-error.js';
import type { Who } from '../../packages/settings/src/settings-table.js';

/** 32 bytes that are no secret. */
export const KEY = Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64');
export const DATABASE_URL = 'postgres://ghost:s3cr3tpass@127.0.0.1:5432/ghost';
/** What every process asks for. */
export const REQUIRED = { DATABASE_URL, GHOST_SECRET_KEYS: `k1:${KEY}` };

/** The error that a process ends with. */
export function errorOf(
  env: NodeJS.ProcessEnv,
  who: Who = 'api',
  readFile = noFile,
): SettingsError {
  try {
    readSettings(env, who, readFile);
  } catch (error) {
    if (error instanceof SettingsError) return error;
    throw error;
  }
  throw new Error('the settings were accepted');
}

/** Names at fault, without the values beside them. */
export function namesOf(env: NodeJS.ProcessEnv, who: Who = 'api'): string[] {
  return errorOf({ ...REQUIRED, ...env }, who).faults.map(({ name }) => name.split('=')[0] ?? '');
}

/** Reads as where no file is. */
export function noFile(path: string): string {
  throw Object.assign(new Error(`no such file ${path}`), { code: 'ENOENT' });
}
