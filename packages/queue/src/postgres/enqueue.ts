import { JOB_VERSION, toStorableJson } from '@ghost/contract';

import { hostOfMailLane } from '../lane.js';
import type { NewJob, Sql } from '../queue.js';

/** One statement for all jobs of a transaction: keys sorted, lanes sorted and last, one NOTIFY. */
export async function enqueue(tx: Sql, jobs: readonly NewJob[]): Promise<number> {
  if (jobs.length === 0) return 0;
  const rows = jobs.map((job) => ({
    id: job.id,
    key: job.idempotencyKey,
    event_id: job.eventId,
    content_id: job.contentId,
    kind: job.kind,
    version: job.version ?? JOB_VERSION,
    lane: job.lane,
    hook_id: job.kind === 'webhook' ? job.hookId : null,
    repository_id: job.repositoryId,
    account_id: job.kind === 'email' ? job.accountId : null,
    own: job.own,
    delay_ms: job.delayMs ?? 0,
    ...(job.kind === 'webhook'
      ? { owner_id: job.ownerId, host: job.host }
      : { host: hostOfMailLane(job.lane) }),
  }));
  const [row] = await tx.query<{ made: number }>('SELECT delivery_enqueue($1::json) AS made', [
    toStorableJson(rows),
  ]);
  return row?.made ?? 0;
}
