import { conditionOf, type HookFilter } from '@ghost/contract';
import {
  type HoldChange,
  type HookListing,
  listHooks,
  pauseHookAsOperator,
  resumeHookAsOperator,
  showHook,
} from '@ghost/operations';
import type { Pool } from '@ghost/db';
import { createPostgresQueue, type Queue } from '@ghost/queue';
import type { Command } from 'commander';

import { changeEach } from '../change-each.js';
import { type Context, withPool } from '../context.js';
import { addPaging, type Paging, pageOf, readId } from '../page.js';
import { type Column, formatTable, formatTime, printJson, printList } from '../print.js';
import { readRepo } from '../read-repo.js';
import { addHookChanges } from './hook-changes.js';
import { addHookReplays } from './hook-replays.js';

const COLUMNS: readonly Column<HookListing>[] = [
  { title: 'ID', cell: (row) => row.id },
  { title: 'REPOSITORY', cell: (row) => row.repository },
  { title: 'TO', cell: (row) => row.origin },
  { title: 'ACTIVE', cell: (row) => (row.active ? 'yes' : 'no') },
  { title: 'PENDING', cell: (row) => row.pending },
  { title: 'LAST SUCCESS', cell: (row) => formatTime(row.lastSuccessAt) },
  { title: 'FAILING SINCE', cell: (row) => formatTime(row.failingSince) },
  { title: 'HELD SINCE', cell: (row) => formatTime(row.held?.since ?? null) },
  { title: 'HELD', cell: (row) => row.held?.code ?? null },
  { title: 'EVENTS', cell: (row) => row.events.join(' ') },
];

export function addHookCommands(program: Command, context: Context): void {
  const hooks = program
    .command('hooks')
    .description('webhook endpoints; what waits for one is its lane, hook:<id>');
  addList(hooks, context);
  addShow(hooks, context);
  addPause(hooks, context);
  addResume(hooks, context);
  addHookChanges(hooks, context);
  addHookReplays(hooks, context);
}

function addList(hooks: Command, context: Context): void {
  addPaging(
    hooks
      .command('list')
      .description(
        'list hooks, the oldest first; of a URL scheme and host, as the rest may be secret',
      )
      .option('--repo <owner/name>', 'only of this repository', readRepo)
      .option('--held', 'only held ones'),
  )
    .addHelpText(
      'after',
      '\nExamples:\n  npx ghost hooks list --repo ada/demo\n  npx ghost hooks list --held --json',
    )
    .action(({ json, repo, held = false, ...paging }: Paging & { repo?: string; held?: boolean }) =>
      withPool(context, async (pool) => {
        const filter = { held, ...(repo === undefined ? {} : { repository: repo }) };
        const page = await pageOf(paging, (part) => listHooks(pool, { ...filter, ...part }));
        printList(context, page.rows, COLUMNS, { json, empty: 'No such hooks.', more: page.more });
      }),
    );
}

function addShow(hooks: Command, context: Context): void {
  hooks
    .command('show')
    .description('show a hook: what holds it, its headers (names alone), how its secret is changed')
    .argument('<id>', 'as "hooks list" shows it', readId)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  npx ghost hooks show 12')
    .action((id: number, { json }: { json?: boolean }) =>
      withPool(context, async (pool) => {
        const hook = await showHook(pool, id);
        if (json) printJson(context, hook);
        else context.print(describe(hook));
      }),
    );
}

function describe(hook: HookListing): string {
  const lines: readonly [string, string][] = [
    ['hook', `${hook.id} of ${hook.repository}`],
    ['to', `${hook.origin}${hook.insecureSsl ? ' (its certificate is not verified)' : ''}`],
    ['active', hook.active ? 'yes' : 'no: nothing new is sent to it'],
    ['events', hook.events.join(' ')],
    ['filters', hook.filters.map(describeFilter).join('; ') || 'none'],
    ['rate', hook.rateLimit === null ? 'no limit' : `at most ${hook.rateLimit} a minute`],
    ['headers', hook.headerNames.join(' ') || 'none of its own'],
    ['signs', `Standard Webhooks, Stripe's${hook.githubSignature ? " and GitHub's" : ''}`],
    ['secret', describeSecret(hook)],
    ['pending', String(hook.pending)],
    ['last success', formatTime(hook.lastSuccessAt) || 'none'],
    ['failing since', formatTime(hook.failingSince) || 'it is not'],
    ['held', hook.held === null ? 'no' : `${formatTime(hook.held.since)} ${hook.held.message}`],
    ...keptLine(hook),
  ];
  if (hook.oldSecretHint !== null) return `${table(lines)}\n\n${hook.oldSecretHint}`;
  return table(lines);
}

function describeFilter(filter: HookFilter): string {
  const condition = conditionOf(filter);
  if (condition === null) return `${filter.field}: unknown to this version`;
  const operator = condition.operator.replace('_', ' ');
  return `${filter.field} ${operator} ${condition.values.map((value) => JSON.stringify(value)).join(' or ')}`;
}

function keptLine({ held, pending, expiresAt }: HookListing): [string, string][] {
  if (held === null || expiresAt === null) return [];
  return [['kept', `${pending}, the first of them until ${formatTime(expiresAt)}`]];
}

function describeSecret({ secretChangedAt, oldSecretUntil }: HookListing): string {
  if (secretChangedAt === null) return 'its first';
  return `changed ${formatTime(secretChangedAt)}; the one before signs until ${formatTime(oldSecretUntil)}`;
}

function table(lines: readonly [string, string][]): string {
  return formatTable<readonly [string, string]>(
    [
      { title: '', cell: ([name]) => name },
      { title: '', cell: ([, value]) => value },
    ],
    lines,
  ).trimStart();
}

function addPause(hooks: Command, context: Context): void {
  addHold(hooks, 'pause', 'keep what is sent to hooks until somebody resumes them (7 days at most)')
    .addHelpText('after', '\nExample:\n  npx ghost hooks pause 12')
    .action((ids: number[], { json }: { json?: boolean }) =>
      changeHolds(context, ids, json, {
        change: pauseHookAsOperator,
        done: 'is paused',
        refused: 'was not paused',
      }),
    );
}

function addResume(hooks: Command, context: Context): void {
  addHold(
    hooks,
    'resume',
    'end a hold, whatever its reason: what was kept is sent; mend the cause first',
  )
    .option('--discard', 'cancel what was kept, instead of sending it')
    .addHelpText(
      'after',
      '\nExamples:\n  npx ghost hooks resume 12\n  npx ghost hooks resume 12 --discard',
    )
    .action((ids: number[], { json, discard }: { json?: boolean; discard?: boolean }) =>
      changeHolds(context, ids, json, {
        change: (pool, queue, id) =>
          resumeHookAsOperator(pool, queue, id, discard ? 'discard' : 'send'),
        done: 'is resumed',
        refused: 'was not resumed',
      }),
    );
}

function addHold(hooks: Command, verb: string, description: string): Command {
  return hooks
    .command(verb)
    .description(description)
    .argument('<id...>', 'as "hooks list" shows them', addId)
    .option('--json', 'print JSON');
}

interface HoldVerb {
  change: (pool: Pool, queue: Queue, id: number) => Promise<HoldChange>;
  done: string;
  refused: string;
}

function changeHolds(
  context: Context,
  ids: number[],
  json: boolean | undefined,
  { change, done, refused }: HoldVerb,
): Promise<void> {
  return withPool(context, (pool) => {
    const queue = createPostgresQueue({ pool });
    return changeEach(context, ids, json, {
      change: (id) => change(pool, queue, id),
      tell: (made) =>
        made.result === 'done'
          ? { done: `Hook ${made.hookId} ${done}; ${counts(made)}.` }
          : { refused: `Hook ${made.hookId} ${refused}: ${made.reason}.` },
    });
  });
}

function counts({ pending, discarded }: Extract<HoldChange, { result: 'done' }>): string {
  return discarded === undefined
    ? `pending: ${pending}`
    : `discarded: ${discarded}, pending: ${pending}`;
}

function addId(text: string, before: number[] = []): number[] {
  return [...before, readId(text)];
}
