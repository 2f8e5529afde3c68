import { countPrunable, prune, type PruneCounts } from '@ghost/operations';
import { LEAST_RETENTION_DAYS } from '@ghost/settings';
import type { Command } from 'commander';

import { CommandError } from '../command-error.js';
import { type Context, settingsOf, withPool } from '../context.js';
import { printJson } from '../print.js';
import { readWholeNumber } from '../read-whole-number.js';

const MAX_DAYS = 3_650;
const PROGRESS_EVERY_MS = 2_000;

interface Options {
  days?: number;
  dryRun?: boolean;
  json?: boolean;
}

/** In the order in which they go. */
const WORDS: readonly (readonly [
  Exclude<keyof PruneCounts, 'expired'>,
  one: string,
  many: string,
])[] = [
  ['attemptDays', 'whole day of attempts', 'whole days of attempts'],
  ['attempts', 'attempt', 'attempts'],
  ['jobs', 'job', 'jobs'],
  ['contents', 'content', 'contents'],
  ['skips', 'skip', 'skips'],
  ['events', 'event', 'events'],
];

export function addPrune(program: Command, context: Context): void {
  program
    .command('prune')
    .description(
      'delete ended jobs, processed events and attempts that are older than some days; end held jobs whose time is over',
    )
    .option('--days <n>', 'what is older goes (default: GHOST_RETENTION_DAYS)', readDays)
    .option('--dry-run', 'tell what would go, and delete nothing')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nThe API does so by itself, once a day. Ended by Ctrl-C it goes on where it stopped.\n\nExamples:\n  npx ghost prune --dry-run\n  npx ghost prune --days 14',
    )
    .action(async ({ days: given, dryRun = false, json = false }: Options) => {
      const days = given ?? settingsOf(context).retentionDays;
      const counts = await (dryRun ? countOnly(context, days) : pruneNow(context, days));
      if (json) printJson(context, { days, dryRun, ...counts });
      else context.print(describe(counts, days, dryRun));
    });
}

function countOnly(context: Context, days: number): Promise<PruneCounts> {
  return withPool(context, (pool) => countPrunable(pool, days));
}

async function pruneNow(context: Context, days: number): Promise<PruneCounts> {
  let toldAt = performance.now();
  const pruned = await prune({
    databaseUrl: settingsOf(context).listenDatabaseUrl,
    name: 'ghost cli prune',
    days,
    onStep: (counts) => {
      if (performance.now() - toldAt < PROGRESS_EVERY_MS) return;
      toldAt = performance.now();
      context.note(`… ${listed(counts) || 'nothing'} so far`);
    },
  });
  if (pruned.result === 'busy') {
    throw new CommandError(
      'Another runner, of the API or of this command, is at it: nothing was done. Try again later.',
    );
  }
  if (pruned.postponed) {
    context.note(
      'A day of attempts had to stay: somebody is reading old attempts (a dump, a report). The next run drops it.',
    );
  }
  return pruned.counts;
}

function describe(counts: PruneCounts, days: number, dryRun: boolean): string {
  const what = listed(counts);
  const verb = dryRun ? 'Would delete' : 'Deleted';
  const deleted =
    what === ''
      ? `Nothing is older than ${days} days.`
      : `${verb} what is older than ${days} days: ${what}.`;
  if (counts.expired === 0) return deleted;
  const jobs = counts.expired === 1 ? 'held job' : 'held jobs';
  const ended = dryRun ? 'Would end' : 'Ended';
  return `${deleted} ${ended} ${counts.expired.toLocaleString('en')} ${jobs} whose time was over.`;
}

/** "2 whole days of attempts, 1,200 jobs, 1 event" */
function listed(counts: PruneCounts): string {
  return WORDS.filter(([kind]) => counts[kind] > 0)
    .map(([kind, one, many]) =>
      counts[kind] === 1 ? `1 ${one}` : `${counts[kind].toLocaleString('en')} ${many}`,
    )
    .join(', ');
}

function readDays(text: string): number {
  return readWholeNumber(text, LEAST_RETENTION_DAYS, MAX_DAYS, ': a delivery is tried for 7 days');
}
