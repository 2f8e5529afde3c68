import { createPool, type Pool } from '@ghost/db';
import { readSettings, type Settings } from '@ghost/settings';

/** What commands use of the outside. */
export interface Context {
  readonly env: NodeJS.ProcessEnv;
  /** Results: what a script would read. */
  print(text: string): void;
  /** Everything else that is said. */
  note(text: string): void;
  /** Makes the command fail although it ran to its end. */
  fail(): void;
  now(): Date;
  /** All of standard input, for what must not stand in the list of processes. */
  input(): Promise<string>;
}

/**
 * Reads the whole environment, so that the CLI complains of the same names as the processes do.
 * @throws SettingsError
 */
export function settingsOf(context: Context): Settings<'cli'> {
  return readSettings(context.env, 'cli');
}

/** Runs `work` with a pool and ends it. */
export async function withPool<T>(
  context: Context,
  work: (pool: Pool, settings: Settings<'cli'>) => Promise<T>,
): Promise<T> {
  const settings = settingsOf(context);
  const pool = createPool({
    connectionString: settings.databaseUrl,
    name: 'ghost cli',
    max: settings.poolSize,
    // What an operator asks of a big table may take minutes; whoever waits can end it with Ctrl-C.
    answerWithinMs: null,
    // The statement that needed the connection fails and tells.
    onError: () => undefined,
  });
  try {
    return await work(pool, settings);
  } finally {
    await pool.end();
  }
}
