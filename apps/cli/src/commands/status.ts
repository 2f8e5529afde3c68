import { type QueueStatus, queueStatus } from '@ghost/operations';
import type { Command } from 'commander';

import { type Context, withPool } from '../context.js';
import { formatTable, formatTime, printJson } from '../print.js';

export function addStatus(program: Command, context: Context): void {
  program
    .command('status')
    .description('how much waits where: outbox, queue, held lanes, mail relay')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  npx ghost status --json')
    .action((options: { json?: boolean }) =>
      withPool(context, async (pool) => {
        const status = await queueStatus(pool);
        if (options.json) printJson(context, status);
        else context.print(describeStatus(status));
      }),
    );
}

function describeStatus(status: QueueStatus): string {
  const { outbox, counts, heldLanes, relayPausedUntil, relayReason } = status;
  const oldest =
    outbox.oldestPendingSeconds === null
      ? ''
      : `, the oldest for ${Math.round(outbox.oldestPendingSeconds)} s`;
  const lines = [`Outbox: ${outbox.pending} pending${oldest}; ${outbox.setAside} set aside`];
  if (relayPausedUntil !== null) {
    lines.push(`Mail relay: rests until ${formatTime(relayPausedUntil)} (${relayReason})`);
  }
  lines.push('', counts.length === 0 ? 'The queue holds no job.' : describeCounts(counts));
  if (heldLanes.length > 0) {
    lines.push('', 'Held lanes (npx ghost lanes resume LANE):', describeLanes(heldLanes));
  }
  return lines.join('\n');
}

function describeCounts(counts: QueueStatus['counts']): string {
  return formatTable(
    [
      { title: 'KIND', cell: (row) => row.kind },
      { title: 'STATUS', cell: (row) => row.status },
      { title: 'WAITS', cell: (row) => row.waiting },
      { title: 'JOBS', cell: (row) => row.jobs },
      {
        title: 'DUE FOR',
        cell: (row) =>
          row.oldestDueSeconds === null ? '' : `${Math.round(row.oldestDueSeconds)} s`,
      },
    ],
    counts,
  );
}

function describeLanes(lanes: QueueStatus['heldLanes']): string {
  return formatTable(
    [
      { title: 'LANE', cell: (row) => row.lane },
      { title: 'JOBS', cell: (row) => row.jobs },
      { title: 'SINCE', cell: (row) => formatTime(row.since) },
      { title: 'WHY', cell: (row) => row.reason },
    ],
    lanes,
  );
}
