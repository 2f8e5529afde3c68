import type { Pool } from '@ghost/db';
import {
  type ExplainedDelivery,
  type ExplainedEvent,
  explainEvent,
  findJob,
} from '@ghost/operations';
import type { Command } from 'commander';

import { CommandError } from '../command-error.js';
import { type Context, withPool } from '../context.js';
import { formatTable, formatTime, printJson } from '../print.js';
import { requireId } from '../require-id.js';

export function addEventCommands(program: Command, context: Context): void {
  const event = program.command('event').description('what became of an event');
  event
    .command('show')
    .description('tell who got an event, who did not and why, each try, and what happens next')
    .argument(
      '<id>',
      'the id of the event (in a webhook\'s body it is "id"), or of one of its jobs',
    )
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  npx ghost event show 01890a5d-ac96-774b-bcce-b302099a8057')
    .action((id: string, options: { json?: boolean }) =>
      withPool(context, async (pool) => {
        const explained = await findEvent(pool, requireId(id, 'event'));
        if (options.json) printJson(context, explained);
        else context.print(describeEvent(explained));
      }),
    );
}

/** The event of this id, or that a job of this id is of. */
async function findEvent(pool: Pool, id: string): Promise<ExplainedEvent> {
  const explained = await explainEvent(pool, id);
  if (explained) return explained;
  const job = await findJob(pool, id);
  if (job && job.eventId === null) throw new CommandError(`The job ${id} is of no event.`);
  const itsEvent = job?.eventId == null ? null : await explainEvent(pool, job.eventId);
  if (itsEvent) return itsEvent;
  throw new CommandError(
    `There is no event ${id}, and no job of this id: "npx ghost jobs list" shows both.`,
  );
}

function describeEvent(event: ExplainedEvent): string {
  const total = Object.values(event.counts).reduce((sum, jobs) => sum + jobs, 0);
  const counts = Object.entries(event.counts)
    .filter(([, jobs]) => jobs > 0)
    .map(([status, jobs]) => `${jobs} ${status}`);
  const cut = total > event.deliveries.length ? `, ${event.deliveries.length} shown` : '';
  return [
    `Event ${event.id}  ${event.type}${event.repository === null ? '' : ` in ${event.repository}`}`,
    `Committed ${formatTime(event.createdAt)}, ${event.processedAt === null ? 'fan-out is not complete' : `fanned out ${formatTime(event.processedAt)}`}`,
    ...(event.repositoryDeleted
      ? ['Its repository was deleted: what had not been sent by then never will be.']
      : []),
    '',
    formatTable(
      [
        { title: 'CONSUMER', cell: (row) => row.consumer },
        { title: 'STATE', cell: (row) => row.state },
        { title: 'ATTEMPTS', cell: (row) => row.attempts },
        { title: 'ENDED', cell: (row) => formatTime(row.endedAt) },
        { title: 'NEXT TRY', cell: (row) => formatTime(row.nextAt) },
        { title: 'LAST ERROR', cell: (row) => row.lastError },
      ],
      event.consumers,
    ),
    '',
    total === 0 ? 'No deliveries.' : `Deliveries: ${counts.join(', ')}${cut}`,
    ...(event.deliveries.length === 0 ? [] : [describeDeliveries(event.deliveries)]),
    ...(event.skips.length === 0 ? [] : ['', 'Left out:', describeSkips(event)]),
  ].join('\n');
}

function describeDeliveries(deliveries: readonly ExplainedDelivery[]): string {
  const rows = deliveries.flatMap((delivery) => [
    {
      job: delivery.jobId,
      to: delivery.target,
      status:
        delivery.waiting === null ? delivery.status : `${delivery.status} (${delivery.waiting})`,
      when: formatTime(delivery.finishedAt ?? delivery.runAt),
      what: delivery.heldReason ?? delivery.lastError,
    },
    ...delivery.history.map((attempt) => ({
      job: '',
      to: attempt.number === null ? '  not charged' : `  try ${attempt.number}`,
      status: attempt.outcome,
      when: formatTime(attempt.finishedAt),
      what: [attempt.status, attempt.reason, attempt.message]
        .filter((part) => part !== null)
        .join(' '),
    })),
  ]);
  return formatTable(
    [
      { title: 'JOB', cell: (row) => row.job },
      { title: 'TO', cell: (row) => row.to },
      { title: 'STATUS', cell: (row) => row.status },
      { title: 'ENDED OR DUE', cell: (row) => row.when },
      { title: 'WHY', cell: (row) => row.what },
    ],
    rows,
  );
}

function describeSkips(event: ExplainedEvent): string {
  return formatTable(
    [
      { title: 'WHO', cell: (row) => row.target },
      {
        title: 'WHY',
        cell: ({ reason, detail }) => (detail === null ? reason : `${reason} (${detail})`),
      },
    ],
    event.skips,
  );
}
