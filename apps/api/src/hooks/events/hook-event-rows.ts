import { HOOK_EVENT_TYPES } from '@ghost/contract';
import { type Database, schema } from '@ghost/db';
import { and, eq, inArray, or, sql } from 'drizzle-orm';

import type { Account } from '../../accounts/current-account.js';
import { notFound } from '../../http/api-error.js';
import {
  isMembershipOf,
  isOwnerAt,
  isReadableBy,
  isRepositoryAt,
  joinedPermission,
  ONE_ROW,
  OWNER_COLUMNS,
  REPOSITORY_ID,
} from '../../repositories/repository-access.js';
import { keyOfEvent } from '../deliveries/delivery-rows.js';
import { IN_FLIGHT, JOB_COLUMNS } from '../deliveries/job-columns.js';
import { LANE_COLUMNS } from '../deliveries/lane-columns.js';
import type { JobNow, LaneNow } from '../deliveries/next-step.js';
import { isHookFor, requireHook } from '../hook-rows.js';
import type { HookEventPath } from './hook-event-path.js';

/** An event of the hook's repository, and all that is known of it for this hook. */
export interface HookEvent {
  eventId: string;
  event: string;
  createdAt: Date;
  /** How far fan-out is; null: it is kept no longer. */
  fanout: { doneAt: Date | null; setAsideAt: Date | null } | null;
  skip: { reason: string; detail: string | null } | null;
  /** `tries`: charged tries ever. */
  job: (JobNow & { id: string; tries: number; redelivery: boolean }) | null;
  lane: LaneNow | null;
}

const { outboxEvent: event, outboxProgress: progress, fanoutSkip: skip } = schema;
const { deliveryJob: job, deliveryLane: lane } = schema;

/** The first column of each part is one that is never null: by it Drizzle tells whether there is any. */
const EVENT_COLUMNS = {
  event: { id: event.id, type: event.type, createdAt: event.createdAt },
  fanout: {
    consumer: progress.consumer,
    doneAt: progress.doneAt,
    setAsideAt: progress.setAsideAt,
  },
  skip: { reason: skip.reason, detail: skip.detail },
  job: { id: job.id, tries: job.tries, redelivery: job.redelivery, ...JOB_COLUMNS },
  inFlight: IN_FLIGHT,
  lane: LANE_COLUMNS,
};

/**
 * What became of one event for a hook, each part by a key.
 * @throws ApiError 404 when the repository may not be read, or has no such hook or event for hooks; 403 for who is
 * no admin
 */
export async function findHookEvent(
  db: Database,
  account: Account,
  path: HookEventPath,
): Promise<HookEvent> {
  const { repository, hook } = schema;
  const [row] = await db
    .select({
      repository,
      owner: OWNER_COLUMNS,
      permission: joinedPermission(account),
      hook: { id: hook.id },
      ...EVENT_COLUMNS,
    })
    .from(ONE_ROW)
    .leftJoin(schema.account, isOwnerAt(path))
    .leftJoin(repository, isRepositoryAt(path))
    .leftJoin(schema.member, isMembershipOf(account))
    .leftJoin(hook, isHookFor(account, path))
    .leftJoin(
      event,
      and(eq(event.id, path.event_id), eq(event.repositoryId, REPOSITORY_ID), isForHook()),
    )
    .leftJoin(
      progress,
      and(eq(progress.eventId, event.id), eq(progress.consumer, 'webhook-fanout')),
    )
    .leftJoin(
      skip,
      and(eq(skip.eventId, event.id), eq(skip.targetKind, 'hook'), eq(skip.targetId, hook.id)),
    )
    .leftJoin(
      job,
      and(eq(job.eventId, event.id), eq(job.idempotencyKey, keyOfEvent(path.event_id))),
    )
    .leftJoin(lane, and(eq(lane.lane, job.lane), eq(lane.version, job.version)))
    .where(isReadableBy(account));
  requireHook(row);
  if (row === undefined || row.event === null) throw notFound();
  const { event: found, inFlight } = row;
  return {
    eventId: found.id,
    event: found.type,
    createdAt: found.createdAt,
    fanout: row.fanout,
    skip: row.skip,
    job: row.job === null ? null : { ...row.job, inFlight },
    lane: row.lane,
  };
}

/** Its own pings, and what hooks can ask for: the rest are mails to somebody. */
function isForHook() {
  const { hook } = schema;
  return or(
    inArray(event.type, [...HOOK_EVENT_TYPES]),
    and(eq(event.type, 'ping'), sql`${event.payload} ->> 'hook_id' = ${hook.id}::text`),
  );
}
