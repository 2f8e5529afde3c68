import {
  applyMailReport,
  liftSuppression,
  listSuppressions,
  readMailReport,
  type ReportEffect,
  type SuppressionRow,
} from '@ghost/operations';
import { sqlOfPool } from '@ghost/queue';
import { EXIT } from '@ghost/settings';
import type { Command } from 'commander';

import { changeEach } from '../change-each.js';
import { CommandError } from '../command-error.js';
import { type Context, withPool } from '../context.js';
import { type Column, formatTime, printJson, printList } from '../print.js';
import { MAX_LISTED, readLimit } from '../read-limit.js';
import { addMailTest } from './mail-test.js';

const COLUMNS: readonly Column<SuppressionRow>[] = [
  { title: 'ADDRESS', cell: (row) => row.address },
  { title: 'REASON', cell: (row) => row.reason },
  { title: 'MAIL', cell: (row) => (row.active ? 'none' : 'yes') },
  { title: 'SINCE', cell: (row) => formatTime(row.since) },
  {
    title: 'UNTIL',
    cell: (row) => (row.since === null ? null : formatTime(row.until) || 'for good'),
  },
  { title: 'STRIKES', cell: (row) => row.strikes },
];

interface ListOptions {
  address?: string;
  active?: boolean;
  limit: number;
  after?: string;
  json?: boolean;
}

export function addMailCommands(program: Command, context: Context): void {
  const mail = program
    .command('mail')
    .description('try the relay, addresses that get no mail, and what comes back');
  addMailTest(mail, context);
  const suppressions = mail
    .command('suppressions')
    .description('addresses that get no mail, as they were refused, bounced or complained');
  addList(suppressions, context);
  addLift(suppressions, context);
  addReport(mail, context);
}

function addList(suppressions: Command, context: Context): void {
  suppressions
    .command('list')
    .description('list them by address')
    .option('--address <address>', 'only this one')
    .option('--active', 'only those that get no mail now')
    .option('--limit <n>', `at most so many, up to ${MAX_LISTED}`, readLimit, 50)
    .option('--after <address>', 'go on after this one, the last that was listed')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  npx ghost mail suppressions list --active\n  npx ghost mail suppressions list --address ada@example.com --json',
    )
    .action(({ json, ...filter }: ListOptions) =>
      withPool(context, async (pool) => {
        const rows = await listSuppressions(pool, filter);
        const last = rows.at(-1);
        const more = last && rows.length >= filter.limit ? `--after ${last.address}` : undefined;
        printList(context, rows, COLUMNS, { json, empty: 'No such addresses.', more });
      }),
    );
}

function addLift(suppressions: Command, context: Context): void {
  suppressions
    .command('lift')
    .description('let addresses have mail again; the next refusal suppresses them anew')
    .argument('<address...>', 'as the list shows them')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  npx ghost mail suppressions lift ada@example.com')
    .action((addresses: string[], { json }: { json?: boolean }) =>
      withPool(context, (pool) =>
        changeEach(context, addresses, json, {
          change: async (address) => ({ address, lifted: await liftSuppression(pool, address) }),
          tell: ({ address, lifted }) =>
            lifted
              ? { done: `${address} gets mail again.` }
              : { refused: `Nothing is known against ${address}.` },
        }),
      ),
    );
}

function addReport(mail: Command, context: Context): void {
  mail
    .command('report')
    .description(
      'take a raw bounce (RFC 3464) or complaint (RFC 5965) from standard input, as a mail server pipes it',
    )
    .option('--recipient <address>', 'whom it came for, where the mail server knows')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nIt counts only where it names a return path that this installation made (GHOST_VERP_DOMAIN).\n\nExample, a line of /etc/aliases or a pipe transport:\n  npx ghost mail report --recipient "$RECIPIENT" < message',
    )
    .action(({ recipient, json }: { recipient?: string; json?: boolean }) =>
      withPool(context, async (pool, { keyRing }) => {
        if (keyRing === null) {
          throw new CommandError(
            'GHOST_SECRET_KEYS is not set: no return path can be recognised.',
            EXIT.config,
          );
        }
        const raw = Buffer.from(await context.input(), 'utf8');
        const report = await readMailReport(raw, keyRing, { recipient });
        const effect = await applyMailReport(sqlOfPool(pool), report);
        if (json) printJson(context, effect);
        else context.print(sentenceOf(effect));
      }),
    );
}

function sentenceOf(effect: ReportEffect): string {
  switch (effect.effect) {
    case 'suppressed':
      return `Counted against the address of mail ${effect.jobId}: ${effect.suppression} (${effect.reason}).`;
    case 'noted':
      return `Mail ${effect.jobId} was refused for what we are, not for its address (${effect.reason}).`;
    case 'ignored':
      return `It counts for nothing (${effect.reason}).`;
  }
}
