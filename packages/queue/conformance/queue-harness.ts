import { randomUUID } from 'node:crypto';

import type { MailContent } from '@ghost/contract';
import { createDatabase, createPool, type Pool, schema } from '@ghost/db';
import {
  type AttemptRecord,
  type ClaimedJob,
  createPostgresQueue,
  hookLane,
  type KnownJobs,
  mailLane,
  type NewJob,
  type Queue,
  type Settlement,
  type Sql,
  sqlOf,
  sqlOfClient,
  sqlOfPool,
} from '@ghost/queue';
import { uuidv7 } from 'uuidv7';

import { proveLanes } from '../../../test/support/prove-lanes.js';
import { isBlocked } from '../../../test/support/until-blocked.js';
import { advanceQueue, emptyQueue, jobStates, laneStates } from './postgres-states.js';
import type { JobState, LaneState } from './queue-states.js';

export interface EngineOptions {
  leaseMs?: number;
  laneSlots?: number;
}

/** A transaction that a test holds open while others go on. */
export interface OpenTransaction {
  tx: Sql;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** An engine under the conformance suite; every engine brings one of these. */
export interface QueueHarness {
  engine(options?: EngineOptions): Queue;
  inTransaction<T>(work: (tx: Sql) => Promise<T>): Promise<T>;
  open(): Promise<OpenTransaction>;
  /** Whether a statement waits for another transaction. */
  isBlocked(): Promise<boolean>;
  /** A committed event for jobs to belong to. */
  event(): Promise<string>;
  job(id: string): Promise<JobState>;
  /** Those that are there, by id. */
  jobs(ids: readonly string[]): Promise<Map<string, JobState>>;
  /** The ids of a lane's jobs that were cancelled for a reason. */
  cancelled(lane: string, reason: string): Promise<string[]>;
  attempts(
    jobId: string,
  ): Promise<{ outcome: string; number: number | null; reason: string | null }[]>;
  /** Moves the end of a job's life into the past. */
  outlive(jobId: string): Promise<void>;
  /** Makes a lane one that had a recent success and has earned all of its slots. */
  prove(lane: string): Promise<void>;
  lane(lane: string): Promise<LaneState>;
  /** Those that are there, by name. */
  lanes(names: readonly string[]): Promise<Map<string, LaneState>>;
  /** Moves a lane's last success, and the end of its pause, back by so much. */
  age(lane: string, byMs: number): Promise<void>;
  /** What is noted of the relay; null while it works. */
  relay(): Promise<string | null>;
  /** Lets time go by, by as much as is said; no transaction may be open that holds a lane. */
  advance(ms: number): Promise<void>;
  /** Ends whatever is pending. */
  clear(): Promise<void>;
  /** Removes all jobs and lanes. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

/** What one test of the conformance suite works with. */
export interface QueueBench {
  readonly harness: QueueHarness;
  /** An engine with ten slots a lane. */
  readonly queue: Queue;
  /** Hooks are numbered, so that no two tests share a lane. */
  readonly hook: number;
  readonly anotherHook: () => number;
}

export const WEBHOOKS = { kind: 'webhook', version: 1 } as const;
export const MAILS = { kind: 'email', version: 1 } as const;
export const SHORT_LEASE_MS = 300;

export function postgresHarness(url: string): QueueHarness & { pool: Pool } {
  const pool = createPool({
    connectionString: url,
    name: 'queue test',
    max: 12,
    onError: () => undefined,
  });
  const db = createDatabase(pool);
  return {
    pool,
    engine: (options = {}) => createPostgresQueue({ pool, ...options }),
    inTransaction: (work) => db.transaction((tx) => work(sqlOf(tx))),
    async open() {
      const client = await pool.connect();
      await client.query('BEGIN');
      const end = async (how: 'COMMIT' | 'ROLLBACK') => {
        await client.query(how);
        client.release();
      };
      return {
        tx: sqlOfClient(client),
        commit: () => end('COMMIT'),
        rollback: () => end('ROLLBACK'),
      };
    },
    isBlocked: () => isBlocked(pool),
    async event() {
      const id = uuidv7();
      await db.insert(schema.outboxEvent).values({ id, type: 'ping', version: 1, payload: {} });
      return id;
    },
    async job(id) {
      const state = (await jobStates(pool, [id])).get(id);
      if (!state) throw new Error(`No job ${id}`);
      return state;
    },
    jobs: (ids) => jobStates(pool, ids),
    async cancelled(lane, reason) {
      const { rows } = await pool.query<{ id: string }>(
        `SELECT id FROM delivery_job WHERE lane = $1 AND status = 'cancelled' AND last_error = $2`,
        [lane, reason],
      );
      return rows.map(({ id }) => id);
    },
    attempts: (jobId) =>
      sqlOfPool(pool).query(
        'SELECT outcome, number, reason FROM delivery_attempt WHERE job_id = $1 ORDER BY id',
        [jobId],
      ),
    async outlive(jobId) {
      await pool.query(
        `UPDATE delivery_job SET expires_at = now() - interval '1 second' WHERE id = $1`,
        [jobId],
      );
    },
    prove: (lane) => proveLanes(pool, [lane]),
    async lane(lane) {
      const state = (await laneStates(pool, [lane])).get(lane);
      if (!state) throw new Error(`No lane ${lane}`);
      return state;
    },
    lanes: (names) => laneStates(pool, names),
    advance: (ms) => advanceQueue(pool, ms),
    async age(lane, byMs) {
      await pool.query(
        `UPDATE delivery_lane
         SET last_success_at = last_success_at - $2 * interval '1 millisecond',
           not_before = not_before - $2 * interval '1 millisecond', next_at = next_at - $2 * interval '1 millisecond'
         WHERE lane = $1`,
        [lane, byMs],
      );
    },
    async relay() {
      const { rows } = await pool.query<{ reason: string | null }>(
        'SELECT reason FROM delivery_relay',
      );
      return rows[0]?.reason ?? null;
    },
    async clear() {
      await pool.query(
        `SELECT delivery_cancel(ARRAY(SELECT id FROM delivery_job WHERE status = 'pending'), 'test_over')`,
      );
    },
    empty: () => emptyQueue(pool),
    close: () => pool.end(),
  };
}

interface WebhookWish {
  delayMs?: number;
  version?: number;
  body?: string;
  ownerId?: number;
  host?: string;
}

/** Enqueues `count` webhook jobs for one hook, sharing one body, in one transaction; the lane is proven unless `fresh`. */
export async function enqueueWebhooks(
  harness: QueueHarness,
  queue: Queue,
  hookId: number,
  count: number,
  { fresh = false, ...more }: WebhookWish & { fresh?: boolean } = {},
): Promise<string[]> {
  if (!fresh) await harness.prove(hookLane(hookId));
  const eventId = await harness.event();
  return harness.inTransaction((tx) => webhooksIn(tx, queue, eventId, hookId, count, more));
}

/** The same inside a transaction of the test's. */
export async function webhooksIn(
  tx: Sql,
  queue: Queue,
  eventId: string,
  hookId: number,
  count: number,
  { body = '{"n":1}', ownerId, host, ...more }: WebhookWish = {},
): Promise<string[]> {
  const contentId = await queue.storeContent(tx, { kind: 'webhook', eventId, body });
  const jobs = Array.from(
    { length: count },
    (): NewJob => ({
      ...more,
      id: uuidv7(),
      idempotencyKey: `webhook:${randomUUID()}:${hookId}`,
      eventId,
      contentId,
      lane: hookLane(hookId),
      repositoryId: 1,
      kind: 'webhook',
      hookId,
      own: { event: 'ping' },
      ...(ownerId === undefined ? {} : { ownerId }),
      ...(host === undefined ? {} : { host }),
    }),
  );
  await queue.enqueue(tx, jobs);
  return jobs.map((job) => job.id);
}

export const MAIL_PARTS: MailContent = {
  envelopeFrom: 'bounce@ghost.test',
  from: { name: 'Ada (Ghost)', address: 'notifications@ghost.test' },
  subject: ['Re: [ada/demo] A thread (#1)'],
  text: ['Hello\n\n-- \nYou get this because: ', { slot: 'why' }],
  date: '2026-11-01T10:00:00.000Z',
  messageIdDomain: 'ghost.test',
  headers: [['X-Ghost-Reason', [{ slot: 'why' }]]],
};

/** Enqueues one mail to an account; the lane is proven. */
export async function enqueueMail(
  harness: QueueHarness,
  queue: Queue,
  accountId: number,
  address: string,
  bulk = false,
): Promise<string> {
  const eventId = await harness.event();
  const id = uuidv7();
  const lane = mailLane(address, bulk);
  await harness.prove(lane);
  await harness.inTransaction(async (tx) => {
    const contentId = await queue.storeContent(tx, { kind: 'email', eventId, parts: MAIL_PARTS });
    await queue.enqueue(tx, [
      {
        id,
        idempotencyKey: `email:${eventId}:${accountId}`,
        eventId,
        contentId,
        lane,
        repositoryId: 1,
        kind: 'email',
        accountId,
        own: { to: { name: 'Reader', address }, slots: { why: 'you watch' } },
      },
    ]);
  });
  return id;
}

export async function claimWebhooks(queue: Queue, jobs = 500): Promise<ClaimedJob[]> {
  const claim = await queue.claim({ kind: 'webhook', version: 1, jobs, lanes: 100 });
  return claim.jobs;
}

/** Milliseconds until an ordinary claim may bring something. */
export async function dueInMs(queue: Queue, known: KnownJobs): Promise<number | null> {
  return (await queue.nextDue(known)).workMs;
}

const ATTEMPT: AttemptRecord = { startedAt: '2026-11-01T10:00:00.000Z', timings: { total: 3 } };

export function settlement(
  job: ClaimedJob,
  outcome: Settlement['outcome'],
  more: Partial<Settlement> = {},
): Settlement {
  const { id, leaseNo, lane, version } = job;
  return {
    id,
    leaseNo,
    lane,
    version,
    outcome,
    reason: null,
    charged: true,
    delayMs: 0,
    attempt: ATTEMPT,
    ...more,
  };
}
