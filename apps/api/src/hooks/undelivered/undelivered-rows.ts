import { type Database, schema } from '@ghost/db';
import { and, asc, desc, eq, sql } from 'drizzle-orm';

import type { Account } from '../../accounts/current-account.js';
import {
  isMembershipOf,
  isOwnerAt,
  isReadableBy,
  isRepositoryAt,
  joinedPermission,
  ONE_ROW,
  OWNER_COLUMNS,
} from '../../repositories/repository-access.js';
import { IN_FLIGHT, JOB_COLUMNS } from '../deliveries/job-columns.js';
import { LANE_COLUMNS } from '../deliveries/lane-columns.js';
import type { JobNow, LaneNow } from '../deliveries/next-step.js';
import { keyOfEvent } from '../deliveries/delivery-rows.js';
import { isHookFor, requireHook } from '../hook-rows.js';
import type { HookPath } from '../hook-schemas.js';
import type { PlaceInTime, PlaceOfJob, SkippedPage, WaitingPage } from './undelivered-schemas.js';

export interface WaitingRow {
  jobId: string;
  eventId: string | null;
  event: string | null;
  createdAt: Date;
  redelivery: boolean;
  /** Charged tries ever. */
  tries: number;
  job: JobNow;
  lane: LaneNow | null;
  place: PlaceOfJob;
}

export interface SkippedRow {
  eventId: string;
  event: string;
  reason: string;
  detail: string | null;
  createdAt: Date;
  place: PlaceInTime;
}

/**
 * A page of what waits to be sent to a hook, in the order in which it is sent, and one more when there are
 * more. Rows that are tried meanwhile move to a later place.
 * @throws ApiError 404 when the hook is absent or its repository may not be read, 403 for who is no admin
 */
export async function listWaiting(
  db: Database,
  account: Account,
  path: HookPath,
  wanted: WaitingPage,
): Promise<WaitingRow[]> {
  const { repository, hook, deliveryLane: lane } = schema;
  const page = waitingOfHook(db, wanted);
  const rows = await db
    .select({
      repository,
      owner: OWNER_COLUMNS,
      permission: joinedPermission(account),
      hook: { id: hook.id },
      waiting: page._.selectedFields,
      lane: LANE_COLUMNS,
    })
    .from(ONE_ROW)
    .leftJoin(schema.account, isOwnerAt(path))
    .leftJoin(repository, isRepositoryAt(path))
    .leftJoin(schema.member, isMembershipOf(account))
    .leftJoin(hook, isHookFor(account, path))
    .leftJoinLateral(page, sql`true`)
    .leftJoin(lane, and(eq(lane.lane, sql`'hook:' || ${hook.id}`), eq(lane.version, page.version)))
    .where(isReadableBy(account))
    .orderBy(asc(page.version), asc(page.runAt), asc(page.jobId));
  requireHook(rows[0]);
  return rows.flatMap(({ waiting, lane: of }) => {
    if (waiting === null) return [];
    const { jobId, version, micros, ...job } = waiting;
    const place = { version: String(version), micros, id: jobId };
    return [{ ...job, jobId, job, lane: of, place }];
  });
}

/**
 * A page of the events that were not sent to a hook, the newest first, and one more when there are more.
 * @throws ApiError as {@link listWaiting} does
 */
export async function listSkipped(
  db: Database,
  account: Account,
  path: HookPath,
  wanted: SkippedPage,
): Promise<SkippedRow[]> {
  const { repository, hook, outboxEvent: event } = schema;
  const page = skippedOfHook(db, wanted);
  const rows = await db
    .select({
      repository,
      owner: OWNER_COLUMNS,
      permission: joinedPermission(account),
      hook: { id: hook.id },
      skipped: page._.selectedFields,
      event: event.type,
    })
    .from(ONE_ROW)
    .leftJoin(schema.account, isOwnerAt(path))
    .leftJoin(repository, isRepositoryAt(path))
    .leftJoin(schema.member, isMembershipOf(account))
    .leftJoin(hook, isHookFor(account, path))
    .leftJoinLateral(page, sql`true`)
    .leftJoin(event, eq(event.id, page.eventId))
    .where(isReadableBy(account))
    .orderBy(desc(page.createdAt), desc(page.eventId));
  requireHook(rows[0]);
  return rows.flatMap(({ skipped, event: type }) => {
    if (skipped === null || type === null) return [];
    const { micros, ...rest } = skipped;
    return [{ ...rest, event: type, place: { micros, id: rest.eventId } }];
  });
}

/** Pending jobs of `schema.hook`, to be joined laterally; without a hook none is looked at. */
function waitingOfHook(
  db: Database,
  { after, event_id: eventId, guid, per_page: perPage }: WaitingPage,
) {
  const { hook, deliveryJob: job } = schema;
  return db
    .select({
      jobId: job.id,
      eventId: job.eventId,
      event: sql<string | null>`${job.own} ->> 'event'`.as('event'),
      createdAt: job.createdAt,
      redelivery: job.redelivery,
      tries: job.tries,
      ...JOB_COLUMNS,
      version: job.version,
      inFlight: IN_FLIGHT.as('in_flight'),
      micros: sql<string>`(extract(epoch from ${job.runAt}) * 1000000)::bigint::text`.as('micros'),
    })
    .from(job)
    .where(
      and(
        eq(job.lane, sql`'hook:' || ${hook.id}`),
        // As a literal: by a parameter the index of pending jobs could not be taken.
        eq(job.status, sql.raw("'pending'")),
        eventId === undefined ? undefined : eq(job.idempotencyKey, keyOfEvent(eventId)),
        guid === undefined ? undefined : eq(job.id, guid),
        after === undefined
          ? undefined
          : sql`(${job.version}, ${job.runAt}, ${job.id}) > (${after.version}::smallint, ${timeOf(after)}, ${after.id}::uuid)`,
      ),
    )
    .orderBy(asc(job.version), asc(job.runAt), asc(job.id))
    .limit(perPage + 1)
    .as('waiting');
}

/** Events that were not sent to `schema.hook`, to be joined laterally. */
function skippedOfHook(db: Database, { after, event_id: eventId, per_page: perPage }: SkippedPage) {
  const { hook, fanoutSkip: skip } = schema;
  return db
    .select({
      eventId: skip.eventId,
      reason: skip.reason,
      detail: skip.detail,
      createdAt: skip.createdAt,
      micros: sql<string>`(extract(epoch from ${skip.createdAt}) * 1000000)::bigint::text`.as(
        'micros',
      ),
    })
    .from(skip)
    .where(
      and(
        eq(skip.targetKind, 'hook'),
        eq(skip.targetId, sql`${hook.id}`),
        eventId === undefined ? undefined : eq(skip.eventId, eventId),
        after === undefined
          ? undefined
          : sql`(${skip.createdAt}, ${skip.eventId}) < (${timeOf(after)}, ${after.id}::uuid)`,
      ),
    )
    .orderBy(desc(skip.createdAt), desc(skip.eventId))
    .limit(perPage + 1)
    .as('skipped');
}

function timeOf({ micros }: PlaceInTime) {
  return sql`(timestamptz 'epoch' + ${micros}::bigint * interval '1 microsecond')`;
}
