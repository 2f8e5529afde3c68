import { StartError } from '@ghost/operations';
import { readSettings, SettingsError, EXIT, type Settings } from '@ghost/settings';
import { pino } from 'pino';

import { createApi } from './create-api.js';
import { ShutdownError } from './shutdown-error.js';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** The composition root: the environment in, signals in, an exit code out. */
async function main(): Promise<void> {
  let settings: Settings;
  try {
    settings = readSettings(process.env, 'api');
  } catch (error) {
    if (error instanceof SettingsError) return exit(EXIT.config, error.message);
    throw error;
  }
  const stop = new Promise<void>((resolve) => {
    // Kept for ever: a second signal, from a terminal's whole group, must not cut the orderly end.
    for (const signal of SIGNALS) process.on(signal, () => resolve());
  });
  const logger = pino({ level: settings.logLevel });
  try {
    const api = await createApi({ settings, logger });
    await stop;
    await api.close();
    return exit(0);
  } catch (error) {
    if (error instanceof StartError) return exit(error.exitCode, error.message);
    if (error instanceof ShutdownError) return exit(1, error.message);
    throw error;
  }
}

function exit(code: number, message?: string): void {
  if (message !== undefined) process.stderr.write(`ghost api: ${message}\n`);
  process.exit(code);
}

await main();
