import { checkKeys, type UnreadableSecret } from '@ghost/operations';
import { EXIT } from '@ghost/settings';
import { generateKeyEntry } from '@ghost/vault';
import type { Command } from 'commander';

import { CommandError } from '../command-error.js';
import { type Context, withPool } from '../context.js';
import { formatTable, printJson } from '../print.js';

export function addKeyCommands(program: Command, context: Context): void {
  const keys = program.command('keys').description('keys of the secrets at rest');
  keys
    .command('generate')
    .description('print a new entry for the front of GHOST_SECRET_KEYS')
    .argument('[id]', 'its name, 1 to 32 letters, digits, - or _ (default: k and the date)')
    .addHelpText(
      'after',
      '\nExamples:\n  export GHOST_SECRET_KEYS=$(npx ghost keys generate)\n  export GHOST_SECRET_KEYS=$(npx ghost keys generate k2),$GHOST_SECRET_KEYS',
    )
    .action((id: string | undefined) => {
      context.print(
        newEntry(id ?? `k${context.now().toISOString().slice(0, 10).replaceAll('-', '')}`),
      );
      context.note('Keep it: without it no stored secret can be read again.');
    });
  keys
    .command('check')
    .description('try every stored secret with GHOST_SECRET_KEYS; exit 1 when one cannot be opened')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  npx ghost keys check')
    .action((options: { json?: boolean }) =>
      withPool(context, async (pool, { keyRing }) => {
        if (keyRing === null) {
          throw new CommandError(
            'GHOST_SECRET_KEYS is not set: there is no key to try.',
            EXIT.config,
          );
        }
        const check = await checkKeys(pool, keyRing);
        if (check.unreadable > 0) context.fail();
        if (options.json) {
          printJson(context, check);
          return;
        }
        context.print(
          `${check.secrets - check.unreadable} of ${check.secrets} secrets can be opened.`,
        );
        if (check.unreadable > 0) context.print(describeUnreadable(check.listed));
      }),
    );
}

function newEntry(id: string): string {
  try {
    return generateKeyEntry(id);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new CommandError(
      `"${id}" is no id of a key: use 1 to 32 letters, digits, hyphens or underscores.`,
      EXIT.failed,
      { cause },
    );
  }
}

function describeUnreadable(listed: readonly UnreadableSecret[]): string {
  return formatTable(
    [
      { title: 'HOOK', cell: (row) => row.hookId },
      { title: 'WHY', cell: (row) => row.message },
    ],
    listed,
  );
}
