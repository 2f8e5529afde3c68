import { HEADER } from '@ghost/contract';
import { COMMENT_TEXT_EVENTS, type Database, schema, type Transaction } from '@ghost/db';
import { and, desc, eq, lt, ne, type SQL, sql } from 'drizzle-orm';
import { unionAll } from 'drizzle-orm/pg-core';

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
} from '../../repositories/repository-access.js';
import { isHookFor, requireHook } from '../hook-rows.js';
import type { HookPath } from '../hook-schemas.js';
import type { DeliveryPage, DeliveryPath } from './delivery-schemas.js';
import { IN_FLIGHT, JOB_COLUMNS } from './job-columns.js';
import { LANE_COLUMNS } from './lane-columns.js';
import type { JobNow, LaneNow } from './next-step.js';

type AttemptRow = typeof schema.deliveryAttempt.$inferSelect;

/** An attempt as lists show it. */
export interface ListedAttempt
  extends Pick<AttemptRow, 'id' | 'jobId' | 'finishedAt' | 'outcome' | 'reason' | 'status'> {
  repositoryId: number;
  totalMs: number | null;
  /** Null when neither its head nor its job is kept. */
  event: string | null;
  redelivery: boolean;
}

/** An attempt with all that is kept of it, and where its delivery stands now. */
export interface FoundAttempt
  extends ListedAttempt,
    Pick<AttemptRow, 'number' | 'message' | 'timings' | 'requestHead' | 'responseHead'> {
  responseBody: string | null;
  eventId: string | null;
  /** What was sent; null when it is kept no longer, or its comment was deleted. */
  requestBody: string | null;
  /** Null when it is kept no longer. */
  job: JobNow | null;
  lane: LaneNow | null;
}

/**
 * A page of a hook's attempts, the newest first, and one more when there are more. The same statement finds
 * out what the asker may do. Indexes of each day's partition give them in order, those that were delivered and
 * the others, so a page costs the same at every depth.
 * @throws ApiError 404 when the hook is absent or its repository may not be read, 403 for who is no admin
 */
export async function listAttempts(
  db: Database,
  account: Account,
  path: HookPath,
  { cursor, status, event_id: eventId, guid, per_page: perPage }: DeliveryPage,
): Promise<ListedAttempt[]> {
  const { repository, hook, deliveryAttempt: attempt, deliveryJob: job } = schema;
  const before = cursor === undefined ? undefined : lt(attempt.id, cursor);
  const searched = isOfDelivery({ eventId, guid });
  const page =
    searched === undefined
      ? attemptsOfHook(db, kindsOf(status), [before], perPage + 1)
      : foundAttempts(db, kindsOf(status), [before, searched], perPage + 1);
  const { id, jobId, finishedAt, outcome, reason, status: code, totalMs } = page;
  const rows = await db
    .select({
      repository,
      owner: OWNER_COLUMNS,
      permission: joinedPermission(account),
      hook: { id: hook.id },
      page: { id, jobId, finishedAt, outcome, reason, status: code, totalMs },
      ...whatWasSent(page),
    })
    .from(ONE_ROW)
    .leftJoin(schema.account, isOwnerAt(path))
    .leftJoin(repository, isRepositoryAt(path))
    .leftJoin(schema.member, isMembershipOf(account))
    .leftJoin(hook, isHookFor(account, path))
    .leftJoinLateral(page, sql`true`)
    .leftJoin(job, eq(job.id, page.jobId))
    .where(isReadableBy(account))
    .orderBy(desc(page.id));
  const repositoryId = requireHook(rows[0]);
  return rows.flatMap(({ page: found, event, redelivery }) =>
    found === null ? [] : [{ ...found, repositoryId, event, redelivery }],
  );
}

/**
 * One attempt of a hook.
 * @throws ApiError as {@link listAttempts} does, and 404 when the hook has no such attempt
 */
export async function findAttempt(
  db: Database,
  account: Account,
  path: DeliveryPath,
): Promise<FoundAttempt> {
  const { repository, hook, deliveryAttempt: attempt, deliveryJob: job } = schema;
  const { deliveryLane: lane, deliveryContent: content, outboxEvent: event } = schema;
  const one = attemptsOfHook(db, ANY, [eq(attempt.id, path.delivery_id)], 1);
  const { headEvent: _event, headRedelivery: _redelivery, ...columns } = one._.selectedFields;
  const [row] = await db
    .select({
      repository,
      owner: OWNER_COLUMNS,
      permission: joinedPermission(account),
      hook: { id: hook.id },
      one: columns,
      ...whatWasSent(one),
      eventId: job.eventId,
      requestBody: sql<
        string | null
      >`case when ${isOfDeletedComment()} then null else ${content.body} end`,
      inFlight: IN_FLIGHT,
      job: JOB_COLUMNS,
      lane: LANE_COLUMNS,
    })
    .from(ONE_ROW)
    .leftJoin(schema.account, isOwnerAt(path))
    .leftJoin(repository, isRepositoryAt(path))
    .leftJoin(schema.member, isMembershipOf(account))
    .leftJoin(hook, isHookFor(account, path))
    .leftJoinLateral(one, sql`true`)
    .leftJoin(job, eq(job.id, one.jobId))
    .leftJoin(content, eq(content.id, job.contentId))
    .leftJoin(event, eq(event.id, job.eventId))
    .leftJoin(lane, and(eq(lane.lane, job.lane), eq(lane.version, job.version)))
    .where(isReadableBy(account));
  const repositoryId = requireHook(row);
  if (row === undefined || row.one === null) throw notFound();
  const { one: found, job: now, inFlight, ...rest } = row;
  const { event: name, redelivery, eventId, requestBody } = rest;
  return {
    ...found,
    repositoryId,
    event: name,
    redelivery,
    eventId,
    requestBody,
    job: now === null ? null : { ...now, inFlight },
    lane: rest.lane,
  };
}

/** The job of an attempt of a hook that was locked. @throws ApiError 404 when the hook has no such attempt */
export async function jobOfAttempt(tx: Transaction, path: DeliveryPath): Promise<string> {
  const { deliveryAttempt: attempt } = schema;
  const [found] = await tx
    .select({ jobId: attempt.jobId })
    .from(attempt)
    .where(and(eq(attempt.hookId, path.id), eq(attempt.id, path.delivery_id)));
  if (found === undefined) throw notFound();
  return found.jobId;
}

/** Attempts of `schema.hook`, the newest first, to be joined laterally: the newest of those of each kind. */
function attemptsOfHook(
  db: Database,
  [one, other]: Kinds,
  which: readonly (SQL | undefined)[],
  limit: number,
) {
  const newest = desc(schema.deliveryAttempt.id);
  const attempts = attemptsOfKind(db, [one, ...which], newest, limit);
  if (other === undefined) return attempts.as('attempt_of_hook');
  return unionAll(attempts, attemptsOfKind(db, [other, ...which], newest, limit))
    .orderBy(sql`id desc`)
    .limit(limit)
    .as('attempt_of_hook');
}

/**
 * The same of what was searched for, which is a few rows. As a sum, the order is of no index: the planner walked
 * the history of the hook by it, in which they may be anywhere.
 */
function foundAttempts(
  db: Database,
  [one, other]: Kinds,
  which: readonly (SQL | undefined)[],
  limit: number,
) {
  const newest = desc(sql`${schema.deliveryAttempt.id} + 0`);
  const kind = other === undefined ? one : undefined;
  return attemptsOfKind(db, [kind, ...which], newest, limit).as('attempt_of_hook');
}

function attemptsOfKind(
  db: Database,
  which: readonly (SQL | undefined)[],
  order: SQL,
  limit: number,
) {
  const { deliveryAttempt: attempt, hook } = schema;
  return db
    .select({
      id: attempt.id,
      jobId: attempt.jobId,
      number: attempt.number,
      finishedAt: attempt.finishedAt,
      outcome: attempt.outcome,
      reason: attempt.reason,
      message: attempt.message,
      status: attempt.status,
      timings: attempt.timings,
      requestHead: attempt.requestHead,
      responseHead: attempt.responseHead,
      responseBody: attempt.bodyExcerpt,
      totalMs: sql<number | null>`(${attempt.timings} ->> 'total')::float8`.as('total_ms'),
      headEvent: sql<string | null>`${attempt.requestHead} ->> ${HEADER.event}`.as('head_event'),
      headRedelivery: sql<
        boolean | null
      >`jsonb_exists(${attempt.requestHead}, ${HEADER.redelivery})`.as('head_redelivery'),
    })
    .from(attempt)
    .where(and(eq(attempt.hookId, sql`${hook.id}`), ...which))
    .orderBy(order)
    .limit(limit);
}

interface SearchedDelivery {
  eventId?: string | undefined;
  guid?: string | undefined;
}

function isOfDelivery({ eventId, guid }: SearchedDelivery): SQL | undefined {
  const { deliveryAttempt: attempt, deliveryJob: job } = schema;
  return and(
    guid === undefined ? undefined : eq(attempt.jobId, guid),
    eventId === undefined
      ? undefined
      : sql`${attempt.jobId} = (select j.id from ${job} j where j.idempotency_key = ${keyOfEvent(eventId)})`,
  );
}

/** Of the one delivery of an event to `schema.hook`: an event may have 100,000 jobs beside it. */
export function keyOfEvent(eventId: string): SQL {
  return sql`'webhook:' || ${eventId}::text || ':' || ${schema.hook.id}`;
}

type Kinds = readonly [kind: SQL | undefined, another?: SQL];

/** For one that is named by its id, whose index serves. */
const ANY: Kinds = [undefined];

/** Those that were delivered have an index, and the others; inlined, as by a parameter it could not be taken. */
function kindsOf(status: DeliveryPage['status']): Kinds {
  const { outcome } = schema.deliveryAttempt;
  const delivered = eq(outcome, sql.raw("'delivered'"));
  const others = ne(outcome, sql.raw("'delivered'"));
  switch (status) {
    case 'success':
      return [delivered];
    case 'failure':
      // What was cancelled failed nowhere: its reason was gone.
      return [sql`${others} and ${outcome} <> 'cancelled'`];
    case undefined:
      return [delivered, others];
  }
}

/** By the head as it was sent; where none was made, by the job. */
function whatWasSent({ headEvent, headRedelivery }: ReturnType<typeof attemptsOfHook>) {
  const { own, redelivery } = schema.deliveryJob;
  return {
    event: sql<string | null>`coalesce(${headEvent}, ${own} ->> 'event')`,
    redelivery: sql<boolean>`coalesce(${headRedelivery}, ${redelivery}, false)`,
  };
}

/** The text of a deleted comment is shown to nobody. */
function isOfDeletedComment(): SQL {
  const { type, commentId } = schema.outboxEvent;
  return sql`${commentId} is not null and ${type} = any (${sql.param(COMMENT_TEXT_EVENTS)}::text[])
    and not exists (select from ${schema.comment} c where c.id = ${commentId})`;
}
