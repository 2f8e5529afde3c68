import type { JobKind } from '@ghost/contract';
import {
  inTransaction,
  isOfDeletedComment,
  mayStillRead,
  type Pool,
  type Transaction,
} from '@ghost/db';
import { type MailFault, mailFault, type Queue, type Sql, sqlOf, sqlOfPool } from '@ghost/queue';

import {
  type DeliveryRecord,
  type DeliveryRow,
  type JobStatus,
  SELECT_DELIVERIES,
  toDeliveryRow,
} from './delivery-row.js';
import { countEnded } from './hooks/replay/count-ended.js';
import { listLimit } from './list-limit.js';

/** `last_error` of a job that an operator ended, or that its people did not want when they resumed its hook. */
export const DISCARDED = 'discarded';

export interface JobFilter {
  status?: JobStatus;
  kind?: JobKind;
  lane?: string;
  /** Only pending jobs of a held lane. */
  held?: boolean;
  /** 1 to 1,000; default 50. */
  limit?: number;
}

/** Why an operator's wish for a job was refused; the message says what to do instead. */
export type JobChange =
  | { result: 'done'; jobId: string }
  | { result: 'refused'; jobId: string; reason: string };

/** The newest jobs that fit a filter. */
export async function listJobs(pool: Pool, filter: JobFilter = {}): Promise<DeliveryRow[]> {
  const limit = listLimit(filter.limit);
  const { rows } = await pool.query<DeliveryRecord>(
    `${SELECT_DELIVERIES}
     WHERE ($1::text IS NULL OR j.status = $1) AND ($2::text IS NULL OR j.kind = $2)
       AND ($3::text IS NULL OR j.lane = $3)
       AND (NOT $4::boolean OR (j.status = 'pending' AND l.held_reason IS NOT NULL))
     ORDER BY j.id DESC LIMIT $5`,
    [filter.status ?? null, filter.kind ?? null, filter.lane ?? null, filter.held ?? false, limit],
  );
  return rows.map(toDeliveryRow);
}

/** One job; null when there is none of this id. */
export async function findJob(pool: Pool, jobId: string): Promise<DeliveryRow | null> {
  return readJob(sqlOfPool(pool), jobId);
}

async function readJob(sql: Sql, jobId: string): Promise<DeliveryRow | null> {
  const [row] = await sql.query<DeliveryRecord>(`${SELECT_DELIVERIES} WHERE j.id = $1`, [jobId]);
  return row ? toDeliveryRow(row) : null;
}

/** {@link redeliverJob} in a transaction of its own. */
export async function retryJob(pool: Pool, queue: Queue, jobId: string): Promise<JobChange> {
  return inTransaction(pool, (tx) => redeliverJob(tx, queue, jobId));
}

/** Why a mail was cancelled that its reader said no to, by a link in it or by their choices. */
const UNWANTED: ReadonlySet<string> = new Set(['muted', 'ignored']);

/**
 * Sends an ended job again: same id, same bytes, a fresh budget. A mail goes only to somebody who may
 * read the repository now, whatever they could when it was written, and to an address that is theirs now;
 * the text of a deleted comment goes to nobody, not even where it was delivered before.
 */
export async function redeliverJob(
  tx: Transaction,
  queue: Queue,
  jobId: string,
): Promise<JobChange> {
  const sql = sqlOf(tx);
  const job = await readJob(sql, jobId);
  if (!job) return refused(jobId, 'there is no such job');
  if (job.status === 'pending') return refused(jobId, whyPending(job));
  if (job.status === 'cancelled' && UNWANTED.has(job.lastError ?? '')) {
    return refused(jobId, 'its reader wants no more mail of it');
  }
  const gone = await whyNobody(tx, sql, job);
  if (gone !== null) return refused(jobId, gone);
  if (job.hookId !== null) await countEnded(sql, job.hookId);
  const [again] = await queue.redeliver(sql, [jobId]);
  if (again !== undefined) return { result: 'done', jobId };
  return refused(
    jobId,
    `it was ${job.status} (${job.lastError ?? 'no reason kept'}), which is final`,
  );
}

/** Why there is nobody to get a job now; null where somebody is, until this transaction ends. */
async function whyNobody(tx: Transaction, sql: Sql, job: DeliveryRow): Promise<string | null> {
  const { jobId } = job;
  const [reader] = await sql.query<{ repository_id: string; account_id: string }>(
    `SELECT repository_id, account_id FROM delivery_job
     WHERE id = $1 AND repository_id IS NOT NULL AND account_id IS NOT NULL`,
    [jobId],
  );
  if (
    reader &&
    !(await mayStillRead(tx, Number(reader.repository_id), Number(reader.account_id)))
  ) {
    return 'its reader has no access to the repository any more';
  }
  if (await isOfDeletedComment(tx, jobId)) return 'its comment was deleted';
  return job.kind === 'email' ? whyNoAddress(sql, jobId) : whyNoHook(sql, job);
}

/** A deletion of the hook waits for this transaction, and then cancels what it queued. */
async function whyNoHook(sql: Sql, { hookId }: DeliveryRow): Promise<string | null> {
  const found = await sql.query('SELECT FROM hook WHERE id = $1 FOR KEY SHARE', [hookId]);
  return found.length === 0 ? 'its hook was deleted' : null;
}

const NO_ADDRESS: Record<MailFault, string> = {
  address_removed: 'its address was removed from the account, or is not verified',
  address_verified: 'its address was verified meanwhile',
  link_expired: 'its link has expired: adding the address again sends a new one',
  repository_deleted: 'its repository was deleted',
};

/** A removal of the address waits for this transaction, and then cancels what it queued. */
async function whyNoAddress(sql: Sql, jobId: string): Promise<string | null> {
  await sql.query(
    `SELECT FROM delivery_job j JOIN email_address e
       ON e.account_id = j.account_id AND lower(e.address) = lower(j.own #>> '{to,address}')
     WHERE j.id = $1 FOR KEY SHARE OF e`,
    [jobId],
  );
  const fault = await mailFault(sql, jobId);
  return fault === null ? null : NO_ADDRESS[fault];
}

/** Ends a pending job for good; a worker that holds it loses its fence. */
export async function discardJob(pool: Pool, queue: Queue, jobId: string): Promise<JobChange> {
  const ended = await queue.cancel(sqlOfPool(pool), { jobIds: [jobId] }, DISCARDED);
  if (ended > 0) return { result: 'done', jobId };
  const job = await findJob(pool, jobId);
  if (!job) return refused(jobId, 'there is no such job');
  return refused(jobId, `it is ${job.status} already; only a pending job can be discarded`);
}

function refused(jobId: string, reason: string): JobChange {
  return { result: 'refused', jobId, reason };
}

function whyPending(job: DeliveryRow): string {
  if (job.targetGone || job.heldReason === 'repository_deleted') {
    return 'its hook or repository was deleted, and it is about to be cancelled';
  }
  if (job.waiting === 'held') {
    return `it is pending, and its lane ${job.lane} is held (${job.heldReason}): it is sent when the lane resumes`;
  }
  return `it is pending already (next try ${job.runAt.toISOString()})`;
}
