import { inert } from '@ghost/operations';
import { EXIT } from '@ghost/settings';
import { CommanderError } from 'commander';

import type { Context } from './context.js';
import { explainError } from './explain-error.js';
import { createProgram } from './program.js';

/**
 * Runs one command line.
 * @param args - without the program's own name
 * @returns the exit code
 */
export async function run(
  args: readonly string[],
  outside: Omit<Context, 'fail'>,
): Promise<number> {
  let exitCode = 0;
  const context: Context = {
    ...outside,
    print: (text) => outside.print(inert(text)),
    note: (text) => outside.note(inert(text)),
    fail: () => {
      exitCode = EXIT.failed;
    },
  };
  try {
    await createProgram(context).parseAsync(askForHelp(args), { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander said it already; help and version are no failures.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT.failed;
    const explained = explainError(error, outside.env['DATABASE_URL']);
    context.note(explained.message);
    return explained.exitCode;
  }
}

/** Commander's own `help` knows only the first word of a nested command. */
function askForHelp(args: readonly string[]): readonly string[] {
  return args[0] === 'help' ? [...args.slice(1), '--help'] : args;
}
