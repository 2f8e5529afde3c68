import { type AccountRow, addAccount, listAccounts } from '@ghost/operations';
import type { Command } from 'commander';

import { type Context, withPool } from '../context.js';
import { addPaging, type Paging, pageOf } from '../page.js';
import { type Column, formatTime, printJson, printList } from '../print.js';

interface AddOptions {
  email: string;
  name?: string;
  admin?: boolean;
  json?: boolean;
}

const COLUMNS: readonly Column<AccountRow>[] = [
  { title: 'ID', cell: (row) => row.id },
  { title: 'LOGIN', cell: (row) => row.login },
  { title: 'NAME', cell: (row) => row.name },
  { title: 'ADDRESS', cell: (row) => row.address },
  { title: 'VERIFIED', cell: (row) => (row.verified ? 'yes' : 'no') },
  { title: 'OPERATOR', cell: (row) => (row.admin ? 'yes' : 'no') },
  { title: 'TOKENS', cell: (row) => row.liveTokens },
  { title: 'CREATED', cell: (row) => formatTime(row.createdAt) },
];

export function addAccountCommands(program: Command, context: Context): void {
  const account = program.command('account').description('people who may use the API');
  account
    .command('add')
    .description('make an account; its first token, of all scopes, goes to standard output, once')
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
  addPaging(account.command('list').description('list accounts, the oldest first'))
    .addHelpText(
      'after',
      '\nExamples:\n  npx ghost account list\n  npx ghost account list --limit 1000 --after 1000 --json',
    )
    .action(({ json, ...paging }: Paging) =>
      withPool(context, async (pool) => {
        const page = await pageOf(paging, (part) => listAccounts(pool, part));
        printList(context, page.rows, COLUMNS, {
          json,
          empty: 'No such accounts.',
          more: page.more,
        });
      }),
    );
}
