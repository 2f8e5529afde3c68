import { setTimeout as delay } from 'node:timers/promises';

import {
  cancelReplayAsOperator,
  previewReplayAsOperator,
  REPLAY_SETS,
  type Replay,
  type ReplayPreview,
  type ReplaySet,
  readReplay,
  readReplays,
  showHook,
  startReplayAsOperator,
} from '@ghost/operations';
import { type Sql, sqlOfPool } from '@ghost/queue';
import { type Command, Option } from 'commander';

import { type Context, withPool } from '../context.js';
import { addPaging, type Paging, pageOf, readId } from '../page.js';
import { type Column, formatTime, printJson, printList } from '../print.js';
import { readMoment } from '../read-moment.js';

const LOOK_EVERY_MS = 500;
const TELL_EVERY_MS = 2_000;
/** Steps are half a second apart while the hook takes what it gets. */
const STILL_MS = 15_000;

const COLUMNS: readonly Column<Replay>[] = [
  { title: 'ID', cell: (row) => row.id },
  { title: 'STATE', cell: (row) => row.state },
  { title: 'WHICH', cell: (row) => row.which },
  { title: 'SINCE', cell: (row) => formatTime(row.since) },
  { title: 'UNTIL', cell: (row) => formatTime(row.until) },
  { title: 'TOTAL', cell: (row) => row.progress.total },
  { title: 'DELIVERED', cell: (row) => row.progress.delivered },
  { title: 'FAILED', cell: (row) => row.progress.failed },
  { title: 'PENDING', cell: (row) => row.progress.pending },
  { title: 'SKIPPED', cell: (row) => row.progress.skipped },
  { title: 'REMAINING', cell: (row) => row.progress.remaining },
  { title: 'BY', cell: (row) => (row.accountId === null ? '(command line)' : row.account) },
];

interface ReplayOptions {
  since: string;
  until?: string;
  which: ReplaySet;
  dryRun?: boolean;
  wait: boolean;
  json?: boolean;
}

/** The commands that send ended deliveries of a hook again, all that fit. */
export function addHookReplays(hooks: Command, context: Context): void {
  addReplay(hooks, context);
  addReplays(hooks, context);
  addCancel(hooks, context);
}

function addReplay(hooks: Command, context: Context): void {
  hooks
    .command('replay')
    .description('send ended deliveries of a hook again: the same ids and bytes, fresh attempts')
    .argument('<id>', 'as "hooks list" shows it', readId)
    .requiredOption('--since <time>', 'what ended from then on: 12h, 3d, 2027-01-31T18:00Z')
    .option('--until <time>', 'and before that (default: now)')
    .addOption(
      new Option(
        '--which <set>',
        'failed: given up; undelivered: cancelled ones too; all: delivered ones too',
      )
        .choices(REPLAY_SETS)
        .default('failed'),
    )
    .option('--dry-run', 'tell how many, and send nothing')
    .option('--no-wait', 'start it and do not watch it')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nThe API takes the steps, as many at a time as the hook takes; ended by Ctrl-C, the replay goes on.\n\nExamples:\n  npx ghost hooks replay 12 --since 3d --dry-run\n  npx ghost hooks replay 12 --since 2027-01-31T18:00Z --which all',
    )
    .action((id: number, options: ReplayOptions) =>
      withPool(context, async (pool, { retentionDays }) => {
        const { which, json = false } = options;
        const now = context.now();
        const wish = {
          which,
          since: readMoment('--since', options.since, now),
          until:
            options.until === undefined ? undefined : readMoment('--until', options.until, now),
        };
        if (options.dryRun === true) {
          const preview = await previewReplayAsOperator(pool, id, wish, retentionDays);
          if (json) printJson(context, { hookId: id, ...preview });
          else context.print(describePreview(id, preview));
          return;
        }
        const sql = sqlOfPool(pool);
        const started = await startReplayAsOperator(pool, id, { ...wish, retentionDays });
        const first = await readReplay(sql, started);
        context.note(
          `Replay ${started} of hook ${id}: ${deliveries(first.progress.total)}. To end it: npx ghost hooks cancel-replay ${started}`,
        );
        const replay = options.wait ? await watch(context, sql, started) : first;
        if (json) printJson(context, replay);
        else context.print(describe(replay));
      }),
    );
}

function addReplays(hooks: Command, context: Context): void {
  addPaging(
    hooks
      .command('replays')
      .description('list the replays of a hook, the newest first, with their progress')
      .argument('<id>', 'as "hooks list" shows it', readId),
  )
    .addHelpText('after', '\nExample:\n  npx ghost hooks replays 12')
    .action((id: number, { json, ...paging }: Paging) =>
      withPool(context, async (pool) => {
        await showHook(pool, id);
        const sql = sqlOfPool(pool);
        const page = await pageOf(paging, (part) => readReplays(sql, { hookId: id, ...part }));
        const words = { json, empty: 'No replays.', more: page.more };
        printList(context, page.rows, COLUMNS, words);
      }),
    );
}

function addCancel(hooks: Command, context: Context): void {
  hooks
    .command('cancel-replay')
    .description('end a replay: nothing more is made pending; what is pending already is sent')
    .argument('<replay>', 'as "hooks replays" shows it', readId)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  npx ghost hooks cancel-replay 3')
    .action((id: number, { json }: { json?: boolean }) =>
      withPool(context, async (pool) => {
        await cancelReplayAsOperator(pool, id);
        const replay = await readReplay(sqlOfPool(pool), id);
        if (json) printJson(context, replay);
        else context.print(describe(replay));
      }),
    );
}

/** Until all of it was made pending, it waits for somebody, or is cancelled. */
async function watch(context: Context, sql: Sql, id: number): Promise<Replay> {
  let toldAt = performance.now();
  let movedAt = toldAt;
  let before = '';
  for (;;) {
    const replay = await readReplay(sql, id);
    if (replay.state !== 'running') return replay;
    const now = performance.now();
    const counts = listed(replay);
    if (counts !== before) movedAt = now;
    before = counts;
    if (now - toldAt >= TELL_EVERY_MS) {
      toldAt = now;
      context.note(`… ${counts}`);
      if (now - movedAt >= STILL_MS) {
        movedAt = now;
        context.note('Nothing moved for a while: the hook takes nothing, or no API is running.');
      }
    }
    await delay(LOOK_EVERY_MS);
  }
}

function describePreview(id: number, preview: ReplayPreview): string {
  const { total, byStatus, byEvent, leftOut } = preview;
  const when = `${formatTime(preview.since)} to ${formatTime(preview.until)}`;
  const lines = [`Hook ${id} would get ${deliveries(total)} again, of those that ended ${when}.`];
  if (total > 0) lines.push(`By what became of them: ${countsOf(byStatus)}.`);
  if (total > 0) lines.push(`By event: ${countsOf(byEvent)}.`);
  if (Object.keys(leftOut).length > 0) lines.push(`Left out: ${countsOf(leftOut)}.`);
  return lines.join('\n');
}

function describe(replay: Replay): string {
  const { id, state, waitsFor } = replay;
  const lines = [`Replay ${id} is ${state}: ${listed(replay)}.`];
  if (waitsFor === 'inactive') lines.push('It waits until the hook is active.');
  else if (waitsFor !== null) {
    lines.push(`It waits until the hook is resumed. ${waitsFor.hold.message}`);
  }
  return lines.join('\n');
}

function listed({ progress }: Replay): string {
  const { total, remaining, pending, delivered, failed, cancelled, skipped, skippedBy } = progress;
  const counts = { delivered, failed, cancelled, pending, remaining };
  const why = skipped === 0 ? '' : `, skipped ${number(skipped)} (${countsOf(skippedBy)})`;
  return `${countsOf(counts) || 'nothing'}${why} of ${number(total)}`;
}

function countsOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name} ${number(count)}`)
    .join(', ');
}

function deliveries(count: number): string {
  return count === 1 ? '1 delivery' : `${number(count)} deliveries`;
}

function number(value: number): string {
  return value.toLocaleString('en');
}
