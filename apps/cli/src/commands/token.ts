import { API_SCOPES, type ApiScope } from '@ghost/db';
import { addToken, listTokens, revokeToken, type TokenRow } from '@ghost/operations';
import { type Command, InvalidArgumentError } from 'commander';

import { changeEach } from '../change-each.js';
import { type Context, withPool } from '../context.js';
import { addPaging, type Paging, pageOf, readId } from '../page.js';
import { type Column, formatTime, printJson, printList } from '../print.js';
import { readExpiry } from '../read-expiry.js';

interface AddOptions {
  label: string;
  scope: ApiScope[];
  expires?: string;
  json?: boolean;
}

export function addTokenCommands(program: Command, context: Context): void {
  const token = program.command('token').description('API tokens of accounts');
  addAdd(token, context);
  addList(token, context);
  addRevoke(token, context);
}

function addAdd(token: Command, context: Context): void {
  token
    .command('add')
    .description('make a token; it goes to standard output, once')
    .argument('<login>', 'whose it is')
    .requiredOption(
      '--scope <scope>',
      `what it may: ${API_SCOPES.join(', ')}; repeatable`,
      addScope,
    )
    .option('--label <text>', 'what it is for', 'made by an operator')
    .option('--expires <when>', 'its end: 90d, 12h, or a date as 2027-01-31 (default: never)')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nScopes: repo (repositories, threads, comments, watching), hooks (webhooks), admin (who may do what:\ntokens, addresses, collaborators, visibility, deletion). None includes another.\n\nExamples:\n  npx ghost token add ada --scope repo --scope hooks --label laptop --expires 90d\n  TOKEN=$(npx ghost token add ci --scope repo --label "nightly build")',
    )
    .action((login: string, { label, scope: scopes, expires, json }: AddOptions) => {
      const expiresAt = expires === undefined ? null : readExpiry(expires, context.now());
      return withPool(context, async (pool) => {
        const added = await addToken(pool, { login, label, scopes, expiresAt, actor: null });
        if (json) {
          printJson(context, added);
          return;
        }
        const end = added.expiresAt === null ? 'never ends' : `ends ${formatTime(added.expiresAt)}`;
        context.note(
          `Made the token ${added.id} of ${login} (${added.scopes.join(', ')}; ${end}).`,
        );
        context.note('It is shown only now:');
        context.print(added.token);
      });
    });
}

function addList(token: Command, context: Context): void {
  addPaging(
    token
      .command('list')
      .description('list the tokens of an account, the newest first; never the tokens themselves')
      .argument('<login>')
      .option('--all', 'also revoked ones'),
  )
    .addHelpText(
      'after',
      '\nExamples:\n  npx ghost token list ada\n  npx ghost token list ada --all --json',
    )
    .action((login: string, { json, all = false, ...paging }: Paging & { all?: boolean }) =>
      withPool(context, async (pool) => {
        const page = await pageOf(paging, (part) =>
          listTokens(pool, { login, revoked: all, ...part }),
        );
        printList(context, page.rows, columns(context.now()), {
          json,
          empty: `${login} has no ${all ? '' : 'live '}token.`,
          more: page.more,
        });
      }),
    );
}

function columns(now: Date): readonly Column<TokenRow>[] {
  return [
    { title: 'ID', cell: (row) => row.id },
    { title: 'STATE', cell: (row) => stateOf(row, now) },
    { title: 'SCOPES', cell: (row) => row.scopes.join(', ') },
    { title: 'CREATED', cell: (row) => formatTime(row.createdAt) },
    {
      title: 'ENDS',
      cell: (row) => (row.expiresAt === null ? 'never' : formatTime(row.expiresAt)),
    },
    { title: 'LABEL', cell: (row) => row.label },
  ];
}

function stateOf({ revokedAt, expiresAt }: TokenRow, now: Date): string {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= now ? 'ended' : 'live';
}

function addRevoke(token: Command, context: Context): void {
  token
    .command('revoke')
    .description('end tokens for good: their next use is refused')
    .argument('<id...>', 'ids of tokens, as "token list" shows them', addId)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  npx ghost token revoke 12')
    .action((ids: number[], { json }: { json?: boolean }) =>
      withPool(context, (pool) =>
        changeEach(context, ids, json, {
          change: async (id) => ({ id, result: await revokeToken(pool, { id, actor: null }) }),
          tell: ({ id, result }) =>
            result === 'revoked'
              ? { done: `Token ${id} is revoked.` }
              : {
                  refused: `Token ${id} was not revoked: there is none, or it was revoked before.`,
                },
        }),
      ),
    );
}

function addScope(text: string, before: ApiScope[] = []): ApiScope[] {
  const scope = API_SCOPES.find((one) => one === text);
  if (scope !== undefined) return [...before, scope];
  throw new InvalidArgumentError(`There is no such scope. Choose from ${API_SCOPES.join(', ')}.`);
}

function addId(text: string, before: number[] = []): number[] {
  return [...before, readId(text)];
}
