import type { JobKind } from '@ghost/contract';
import { parseUrl } from '@ghost/policy';

export type JobStatus = 'pending' | 'delivered' | 'dead' | 'cancelled';
export const JOB_STATUSES = [
  'pending',
  'delivered',
  'dead',
  'cancelled',
] as const satisfies JobStatus[];

/** What a pending job waits for. */
export type Waiting = 'held' | 'in_flight' | 'resting' | 'due' | 'scheduled';

/** One job as an operator sees it: to whom, how far, and why not further. */
export interface DeliveryRow {
  jobId: string;
  eventId: string | null;
  kind: JobKind;
  /** `brian <brian@example.test>`, or `hook 7 (https://example.test)`: scheme and host only, a path may be secret. */
  target: string;
  /** Its hook was deleted: nobody is there to get it. */
  targetGone: boolean;
  hookId: number | null;
  accountId: number | null;
  /** Of the account; null for a webhook. */
  login: string | null;
  lane: string;
  status: JobStatus;
  waiting: Waiting | null;
  /** Why its lane is held, or its repository is no more. */
  heldReason: string | null;
  /** Charged tries of the current budget. */
  attempts: number;
  /** Charged tries ever. */
  tries: number;
  /** Reason code of the last outcome that was no success. */
  lastError: string | null;
  redelivery: boolean;
  runAt: Date;
  createdAt: Date;
  finishedAt: Date | null;
}

export interface DeliveryRecord
  extends Omit<DeliveryRow, 'target' | 'targetGone' | 'hookId' | 'accountId'> {
  address: string | null;
  url: string | null;
  hookId: string | null;
  accountId: string | null;
}

/** Of a job `j` whose repository was deleted: it is about to be cancelled. Of a deleted hook the lane is held. */
const CANCELLATION =
  'SELECT c.reason FROM delivery_cancellation c WHERE c.repository_id = j.repository_id';

/** {@link Waiting} of a job `j` in its lane `l`. */
export const WAITING = `CASE
      WHEN j.status <> 'pending' THEN NULL
      WHEN j.lease_until > now() THEN 'in_flight'
      WHEN l.held_reason IS NOT NULL OR EXISTS (${CANCELLATION}) THEN 'held'
      WHEN l.not_before > now() THEN 'resting'
      WHEN j.run_at <= now() THEN 'due'
      ELSE 'scheduled'
    END`;

/** Add a WHERE, ORDER BY and LIMIT on `j` (the job). */
export const SELECT_DELIVERIES = `
  SELECT j.id AS "jobId", j.event_id AS "eventId", j.kind, j.own #>> '{to,address}' AS address, h.url, j.hook_id AS "hookId",
    j.account_id AS "accountId", a.login, j.lane, j.status, ${WAITING} AS waiting,
    CASE WHEN j.status = 'pending' THEN coalesce(l.held_reason, (${CANCELLATION} LIMIT 1)) END AS "heldReason",
    j.attempts, j.tries, j.last_error AS "lastError", j.redelivery, j.run_at AS "runAt", j.created_at AS "createdAt",
    j.finished_at AS "finishedAt"
  FROM delivery_job j
  LEFT JOIN account a ON a.id = j.account_id
  LEFT JOIN hook h ON h.id = j.hook_id
  LEFT JOIN delivery_lane l ON l.lane = j.lane AND l.version = j.version`;

/** The row of {@link SELECT_DELIVERIES} as a {@link DeliveryRow}. */
export function toDeliveryRow(record: DeliveryRecord): DeliveryRow {
  const { jobId, eventId, kind, address: _address, url, hookId, accountId, ...rest } = record;
  return {
    ...{ jobId, eventId, kind },
    target: targetOf(record),
    targetGone: kind === 'webhook' && url === null,
    hookId: hookId === null ? null : Number(hookId),
    accountId: accountId === null ? null : Number(accountId),
    ...rest,
  };
}

function targetOf({ kind, login, accountId, address, hookId, url }: DeliveryRecord): string {
  if (kind === 'email') return `${login ?? `account ${accountId}`} <${address ?? '?'}>`;
  return hookTarget(hookId, url);
}

/** Names a hook by its id and the origin of its URL. */
export function hookTarget(hookId: string | number | null, url: string | null): string {
  if (url === null) return `hook ${hookId} (deleted)`;
  const origin = parseUrl(url)?.origin ?? 'unreadable URL';
  return `hook ${hookId} (${origin})`;
}
