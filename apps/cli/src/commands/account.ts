import { addAccount, addToken } from '@ghost/operations';
import type { Command } from 'commander';

import { type Context, withPool } from '../context.js';
import { printJson } from '../print.js';

interface AddOptions {
  email: string;
  name?: string;
  admin?: boolean;
  json?: boolean;
}

export function addAccountCommands(program: Command, context: Context): void {
  const account = program.command('account').description('accounts and their API tokens');
  account
    .command('add')
    .description('make an account; its token goes to standard output, once')
    .argument('<login>', '1 to 39 letters, digits and dashes')
    .requiredOption('--email <address>', 'where its mail goes; counts as verified')
    .option('--name <name>', 'shown to people (default: the login)')
    .option('--admin', 'an operator of this installation')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  npx ghost account add ada --email ada@example.com --admin\n  TOKEN=$(npx ghost account add ci --email ci@example.com)',
    )
    .action((login: string, options: AddOptions) =>
      withPool(context, async (pool) => {
        const { email, name, admin = false, json = false } = options;
        const added = await addAccount(pool, {
          login,
          email,
          admin,
          ...(name === undefined ? {} : { name }),
        });
        if (json) {
          printJson(context, added);
          return;
        }
        context.note(`Made the account ${added.login} (id ${added.id}${admin ? ', admin' : ''}).`);
        context.note('Its token, which is shown only now:');
        context.print(added.token);
      }),
    );
  account
    .command('token')
    .description('make one more API token for an account; shown once')
    .argument('<login>')
    .option('--label <text>', 'what it is for', 'made by an operator')
    .addHelpText('after', '\nExample:\n  npx ghost account token ada --label laptop')
    .action((login: string, options: { label: string }) =>
      withPool(context, async (pool) => {
        context.print(await addToken(pool, login, options.label));
      }),
    );
}
