import type { Pool } from '@ghost/db';
import {
  holdLane,
  type LaneChange,
  type LaneRow,
  limitLane,
  listLanes,
  resumeLane,
} from '@ghost/operations';
import { createPostgresQueue, type Queue } from '@ghost/queue';
import { type Command, InvalidArgumentError } from 'commander';

import { changeEach } from '../change-each.js';
import { type Context, withPool } from '../context.js';
import { perhapsMore } from '../page.js';
import { type Column, formatTime, printList } from '../print.js';
import { MAX_LISTED, readLimit } from '../read-limit.js';
import { readWholeNumber } from '../read-whole-number.js';

const DEFAULT_REASON = 'held by an operator';
/** It is a column of a table. */
const MAX_REASON_CHARACTERS = 200;
const MAX_SLOTS = 1_000;

interface ListOptions {
  held?: boolean;
  all?: boolean;
  limit: number;
  json?: boolean;
}

const COLUMNS: readonly Column<LaneRow>[] = [
  { title: 'LANE', cell: (row) => row.lane },
  { title: 'PENDING', cell: (row) => row.pending },
  { title: 'IN FLIGHT', cell: (row) => row.inFlight },
  { title: 'LIMIT', cell: (row) => row.slots ?? 'default' },
  { title: 'STANDING', cell: (row) => row.standing },
  { title: 'HELD SINCE', cell: (row) => formatTime(row.heldSince) },
  { title: 'RESTS UNTIL', cell: (row) => formatTime(row.restingUntil) },
  { title: 'NEXT DUE', cell: (row) => formatTime(row.nextDue) },
  { title: 'WHY HELD', cell: (row) => row.heldReason },
];

export function addLaneCommands(program: Command, context: Context): void {
  const lanes = program.command('lanes').description('destinations: a hook, a domain of mail');
  lanes
    .command('list')
    .description('list lanes with pending jobs, held or resting ones; the held first')
    .option('--held', 'only held ones')
    .option('--all', 'also those where nothing waits')
    .option('--limit <n>', `at most so many, up to ${MAX_LISTED}`, readLimit, 50)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  npx ghost lanes list\n  npx ghost lanes list --held --json',
    )
    .action(({ json, all = false, ...filter }: ListOptions) =>
      withPool(context, async (pool) => {
        const rows = await listLanes(pool, { ...filter, idle: all });
        const more = perhapsMore(rows, filter.limit);
        printList(context, rows, COLUMNS, { json, empty: 'No such lanes.', more });
      }),
    );
  addLaneChange(lanes, {
    name: 'hold',
    description: 'keep the jobs of lanes until someone resumes them (7 days at most)',
    examples: ['hook:12 --reason "their maintenance"', 'mail:example.com'],
  })
    .option('--reason <text>', 'shown wherever the lane is', readReason, DEFAULT_REASON)
    .action((given: string[], { json, reason }: { json?: boolean; reason: string }) =>
      changeLanes(context, given, json, {
        change: (pool, queue, lane) => holdLane(pool, queue, lane, reason),
        done: (pending) => `is held: ${jobs(pending)} kept`,
        failed: 'was not held',
      }),
    );
  addLaneChange(lanes, {
    name: 'resume',
    description: 'end a hold: what was kept is sent; mend the cause first',
    examples: ['hook:12', 'mail:example.com mail:example.com:bulk'],
  }).action((given: string[], { json }: { json?: boolean }) =>
    changeLanes(context, given, json, {
      change: resumeLane,
      done: (pending) => `is resumed: ${jobs(pending)} due`,
      failed: 'was not resumed',
    }),
  );
  addLaneLimit(lanes, context);
}

function addLaneLimit(lanes: Command, context: Context): void {
  addLaneChange(lanes, {
    name: 'limit',
    description: 'set how many jobs of lanes may be in flight at once, over all processes',
    examples: ['hook:12 --slots 3', 'mail:example.com --slots 20', 'hook:12 --slots default'],
  })
    .requiredOption('--slots <n>', `1 to ${MAX_SLOTS}, or "default"`, readSlots)
    .action((given: string[], { json, slots }: { json?: boolean; slots: number | 'default' }) =>
      changeLanes(context, given, json, {
        change: (pool, queue, lane) =>
          limitLane(pool, queue, lane, slots === 'default' ? null : slots),
        done: () =>
          slots === 'default'
            ? 'has the default limit: GHOST_LANE_CONCURRENCY of the processes'
            : `may have ${slots} ${slots === 1 ? 'job' : 'jobs'} in flight`,
        failed: 'keeps its limit',
      }),
    );
}

function addLaneChange(
  lanes: Command,
  parts: { name: string; description: string; examples: readonly string[] },
): Command {
  const examples = parts.examples.map((one) => `  npx ghost lanes ${parts.name} ${one}`);
  return lanes
    .command(parts.name)
    .description(parts.description)
    .argument('<lane...>', 'hook:<id>, mail:<domain> or mail:<domain>:bulk')
    .option('--json', 'print JSON')
    .addHelpText('after', `\nExamples:\n${examples.join('\n')}`);
}

function changeLanes(
  context: Context,
  given: readonly string[],
  json: boolean | undefined,
  verb: {
    change: (pool: Pool, queue: Queue, lane: string) => Promise<LaneChange>;
    done: (pending: number) => string;
    failed: string;
  },
): Promise<void> {
  return withPool(context, async (pool) => {
    const queue = createPostgresQueue({ pool });
    await changeEach(context, given, json, {
      // Domains are kept in lower case.
      change: (lane) => verb.change(pool, queue, lane.toLowerCase()),
      tell: (change) =>
        change.result === 'done'
          ? { done: `Lane ${change.lane} ${verb.done(change.pending)}.` }
          : { refused: `Lane ${change.lane} ${verb.failed}: ${change.reason}.` },
    });
  });
}

function jobs(pending: number): string {
  return pending === 1 ? '1 pending job is' : `${pending} pending jobs are`;
}

function readReason(text: string): string {
  const reason = text.trim();
  const length = [...reason].length;
  if (length > 0 && length <= MAX_REASON_CHARACTERS && !/\p{Cc}/u.test(reason)) return reason;
  throw new InvalidArgumentError(
    `It must be one line of 1 to ${MAX_REASON_CHARACTERS} characters.`,
  );
}

function readSlots(text: string): number | 'default' {
  if (text === 'default') return text;
  return readWholeNumber(text, 1, MAX_SLOTS, ', or "default"');
}
