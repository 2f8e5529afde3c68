import { JOB_KINDS, type JobKind } from '@ghost/contract';
import type { Pool } from '@ghost/db';
import {
  type DeliveryRow,
  discardJob,
  findLane,
  JOB_STATUSES,
  type JobChange,
  type JobStatus,
  listJobs,
  retryJob,
} from '@ghost/operations';
import { createPostgresQueue, type Queue } from '@ghost/queue';
import { type Command, Option } from 'commander';

import { changeEach } from '../change-each.js';
import { CommandError } from '../command-error.js';
import { type Context, withPool } from '../context.js';
import { perhapsMore } from '../page.js';
import { type Column, formatTime, printList } from '../print.js';
import { MAX_LISTED, readLimit } from '../read-limit.js';
import { requireId } from '../require-id.js';

interface ListOptions {
  status?: JobStatus;
  kind?: JobKind;
  lane?: string;
  held?: boolean;
  limit: number;
  json?: boolean;
}

const COLUMNS: readonly Column<DeliveryRow>[] = [
  { title: 'JOB', cell: (job) => job.jobId },
  { title: 'EVENT', cell: (job) => job.eventId },
  { title: 'TO', cell: (job) => job.target },
  {
    title: 'STATUS',
    cell: (job) => (job.waiting === null ? job.status : `${job.status} (${job.waiting})`),
  },
  { title: 'TRIES', cell: (job) => job.tries },
  { title: 'ENDED OR DUE', cell: (job) => formatTime(job.finishedAt ?? job.runAt) },
  { title: 'WHY', cell: (job) => job.heldReason ?? job.lastError },
];

export function addJobCommands(program: Command, context: Context): void {
  const jobs = program.command('jobs').description('single deliveries');
  jobs
    .command('list')
    .description('list jobs, the newest first')
    .addOption(new Option('--status <status>', 'only these').choices(JOB_STATUSES))
    .addOption(new Option('--kind <kind>', 'only these').choices(JOB_KINDS))
    .option('--lane <lane>', 'only of this lane: hook:<id>, mail:<domain> or mail:<domain>:bulk')
    .option('--held', 'only pending jobs whose lane is held')
    .option('--limit <n>', `at most so many, up to ${MAX_LISTED}`, readLimit, 50)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  npx ghost jobs list --status dead\n  npx ghost jobs list --lane hook:7 --json',
    )
    .action(({ json, ...filter }: ListOptions) =>
      withPool(context, async (pool) => {
        const lane = filter.lane?.toLowerCase();
        const rows = await listJobs(pool, lane === undefined ? filter : { ...filter, lane });
        if (lane !== undefined && rows.length === 0) await requireLane(pool, lane);
        const more = perhapsMore(rows, filter.limit);
        printList(context, rows, COLUMNS, { json, empty: 'No such jobs.', more });
      }),
    );
  addChange(jobs, context, {
    name: 'retry',
    description: 'send ended jobs again: same id, same bytes, a fresh budget',
    done: 'is pending again',
    failed: 'was not retried',
    change: retryJob,
  });
  addChange(jobs, context, {
    name: 'discard',
    description: 'end pending jobs for good',
    done: 'is cancelled',
    failed: 'was not discarded',
    change: discardJob,
  });
}

/** A lane where there was never anything is more likely a typing error. */
async function requireLane(pool: Pool, lane: string): Promise<void> {
  if (await findLane(pool, lane)) return;
  throw new CommandError(
    `There is no lane "${lane}", or nothing was ever sent there: a lane is hook:<id>, mail:<domain> or mail:<domain>:bulk. See: npx ghost lanes list --all`,
  );
}

interface Change {
  name: string;
  description: string;
  done: string;
  failed: string;
  change: (pool: Pool, queue: Queue, jobId: string) => Promise<JobChange>;
}

/** A command that changes jobs one by one; it fails when one of them was refused. */
function addChange(jobs: Command, context: Context, parts: Change): void {
  const example = `npx ghost jobs ${parts.name} 01890a5d-ac96-774b-bcce-b302099a8057`;
  jobs
    .command(parts.name)
    .description(parts.description)
    .argument('<id...>', 'ids of jobs')
    .option('--json', 'print JSON')
    .addHelpText('after', `\nExample:\n  ${example}`)
    .action((given: string[], options: { json?: boolean }) =>
      withPool(context, async (pool) => {
        const ids = given.map((id) => requireId(id, 'job'));
        const queue = createPostgresQueue({ pool });
        await changeEach(context, ids, options.json, {
          change: (id) => parts.change(pool, queue, id),
          tell: (change) =>
            change.result === 'done'
              ? { done: `Job ${change.jobId} ${parts.done}.` }
              : { refused: `Job ${change.jobId} ${parts.failed}: ${change.reason}.` },
        });
      }),
    );
}
