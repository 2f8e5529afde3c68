import { CONSUMERS, type Consumer } from '@ghost/contract';
import {
  listOutbox,
  OUTBOX_STATES,
  type OutboxFilter,
  type OutboxRow,
  retryOutbox,
} from '@ghost/operations';
import { Argument, type Command, Option } from 'commander';

import { CommandError } from '../command-error.js';
import { type Context, withPool } from '../context.js';
import { perhapsMore } from '../page.js';
import { type Column, formatTime, printJson, printList } from '../print.js';
import { MAX_LISTED, readLimit } from '../read-limit.js';
import { requireId } from '../require-id.js';

const COLUMNS: readonly Column<OutboxRow>[] = [
  { title: 'EVENT', cell: (row) => row.eventId },
  { title: 'TYPE', cell: (row) => row.type },
  { title: 'CONSUMER', cell: (row) => row.consumer },
  { title: 'STATE', cell: (row) => row.state },
  { title: 'ATTEMPTS', cell: (row) => row.attempts },
  { title: 'SINCE', cell: (row) => formatTime(row.setAsideAt ?? row.createdAt) },
  { title: 'NEXT TRY', cell: (row) => formatTime(row.nextAt) },
  { title: 'LAST ERROR', cell: (row) => row.lastError },
];

export function addOutboxCommands(program: Command, context: Context): void {
  const outbox = program.command('outbox').description('events that fan-out has not finished');
  outbox
    .command('list')
    .description('list what was set aside, then what is not finished, the oldest first')
    .addOption(new Option('--state <state>', 'only these').choices(OUTBOX_STATES))
    .addOption(new Option('--consumer <consumer>', 'only of this one').choices(CONSUMERS))
    .option('--limit <n>', `at most so many, up to ${MAX_LISTED}`, readLimit, 100)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  npx ghost outbox list\n  npx ghost outbox list --state set_aside --json',
    )
    .action(({ json, ...filter }: OutboxFilter & { limit: number; json?: boolean }) =>
      withPool(context, async (pool) => {
        const rows = await listOutbox(pool, filter);
        const more = perhapsMore(rows, filter.limit);
        printList(context, rows, COLUMNS, {
          json,
          empty: 'Nothing is pending or set aside.',
          more,
        });
      }),
    );
  outbox
    .command('retry')
    .description('let a consumer try an event again, now and with fresh attempts')
    .argument('<event>', 'id of the event')
    .addArgument(
      new Argument('[consumer]', 'only this one (default: each that has not finished)').choices(
        CONSUMERS,
      ),
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExample:\n  npx ghost outbox retry 01890a5d-ac96-774b-bcce-b302099a8057 notifier',
    )
    .action((event: string, consumer: Consumer | undefined, options: { json?: boolean }) =>
      withPool(context, async (pool) => {
        const eventId = requireId(event, 'event');
        const change = await retryOutbox(pool, eventId, consumer);
        if (change.result === 'refused') {
          throw new CommandError(`Event ${eventId} is not tried again: ${change.reason}.`);
        }
        if (options.json) printJson(context, change);
        else context.print(`Event ${eventId} is tried again: ${change.consumers.join(', ')}.`);
      }),
    );
}
