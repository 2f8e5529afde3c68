import { createDatabase, type Pool } from '@ghost/db';
import { createPostgresQueue, hookLane, mailLane, type NewJob, sqlOf } from '@ghost/queue';
import { encrypt, type KeyRing, parseKeyRing } from '@ghost/vault';

import { TEST_SECRET_KEYS } from './ghost-processes.js';
import { proveLanes } from './prove-lanes.js';
import { openPool } from './test-database.js';

export const SEED_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
/** Test processes have the same ring. */
export const SEED_KEYS = TEST_SECRET_KEYS;

export interface SeededJob {
  id: string;
  status: 'pending' | 'delivered' | 'dead' | 'cancelled';
  attempts: number;
  tries: number;
  leaseNo: number;
  leased: boolean;
  lastError: string | null;
  dueInMs: number;
}

export interface SeededAttempt {
  jobId: string;
  number: number | null;
  outcome: string;
  reason: string | null;
  status: number | null;
  message: string | null;
  bodyExcerpt: string | null;
}

export interface DeliverySeed {
  readonly pool: Pool;
  hook(url: string, more?: { active?: boolean; secrets?: readonly string[] }): Promise<number>;
  /** Enqueues one webhook for each id, and returns the ids of the jobs. Lanes are proven, unless `fresh`. */
  webhooks(
    hookIds: readonly number[],
    more?: { body?: string; fresh?: boolean },
  ): Promise<string[]>;
  mails(addresses: readonly string[], text?: string): Promise<string[]>;
  jobs(): Promise<SeededJob[]>;
  attempts(): Promise<SeededAttempt[]>;
  close(): Promise<void>;
}

/** Makes hooks and jobs in a migrated database, as fan-out would, for tests of what comes after it. */
export async function createDeliverySeed(databaseUrl: string): Promise<DeliverySeed> {
  const pool = openPool(databaseUrl);
  const repositoryId = await makeRepository(pool);
  const keys = keyRing();
  return {
    pool,
    hook: (url, more) => makeHook(pool, repositoryId, keys, url, more),
    webhooks: async (hookIds, { body = '{"hello":"wörld 🎉"}', fresh = false } = {}) => {
      if (!fresh) await proveLanes(pool, hookIds.map(hookLane));
      return enqueue(
        pool,
        (eventId, contentId) =>
          hookIds.map((hookId, index) => ({
            id: nextId(),
            idempotencyKey: `webhook:${eventId}:${hookId}:${index}`,
            eventId,
            contentId,
            lane: hookLane(hookId),
            repositoryId,
            kind: 'webhook',
            hookId,
            own: { event: 'comment.created' },
          })),
        { kind: 'webhook', body },
      );
    },
    mails: async (addresses, text = 'Hello') => {
      const readers = await makeReaders(pool, addresses);
      await proveLanes(
        pool,
        addresses.map((address) => mailLane(address, false)),
      );
      return enqueue(
        pool,
        (eventId, contentId) =>
          addresses.map((address, index) => ({
            id: nextId(),
            idempotencyKey: `email:${eventId}:${index}`,
            eventId,
            contentId,
            lane: mailLane(address, false),
            repositoryId,
            kind: 'email',
            accountId: readers[index] ?? 0,
            own: { to: { name: 'Reader', address }, slots: {} },
          })),
        { kind: 'email', parts: mailParts(text) },
      );
    },
    jobs: () => readJobs(pool),
    attempts: () => readAttempts(pool),
    close: () => pool.end(),
  };
}

export function keyRing(): KeyRing {
  const parsed = parseKeyRing(SEED_KEYS);
  if (!parsed.ok) throw new Error(parsed.faults.join());
  return parsed.ring;
}

async function makeRepository(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    `WITH owner AS (
       INSERT INTO account (login, name) VALUES ('ghost', 'Ghost') RETURNING id
     ), address AS (
       INSERT INTO email_address (account_id, address, is_primary, verified_at)
       SELECT id, 'ghost@ghost.example', true, now() FROM owner
     )
     INSERT INTO repository (owner_id, name) SELECT id, 'core' FROM owner RETURNING id`,
  );
  return Number(rows[0]?.id);
}

/** An account with a verified address for each; returns their ids, in the same order. */
async function makeReaders(pool: Pool, addresses: readonly string[]): Promise<number[]> {
  const ids: number[] = [];
  for (const address of addresses) {
    const { rows } = await pool.query<{ id: string }>(
      `WITH reader AS (
         INSERT INTO account (login, name)
         VALUES ('reader-' || (SELECT count(*) FROM account), 'Reader') RETURNING id
       ), address AS (
         INSERT INTO email_address (account_id, address, is_primary, verified_at)
         SELECT id, $1, true, now() FROM reader
       )
       SELECT id FROM reader`,
      [address],
    );
    ids.push(Number(rows[0]?.id));
  }
  return ids;
}

async function makeHook(
  pool: Pool,
  repositoryId: number,
  keys: KeyRing,
  url: string,
  {
    active = true,
    secrets = [SEED_SECRET],
  }: { active?: boolean; secrets?: readonly string[] } = {},
): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO hook (repository_id, url, events, active) VALUES ($1, $2, ARRAY['*'], $3) RETURNING id`,
    [repositoryId, url, active],
  );
  const id = rows[0]?.id ?? '';
  for (const secret of secrets) {
    const ciphertext = encrypt(keys, secret, { row: id, purpose: 'hook_secret' });
    await pool.query('INSERT INTO hook_secret (hook_id, ciphertext) VALUES ($1, $2)', [
      id,
      ciphertext,
    ]);
  }
  return Number(id);
}

let made = 0;
/** A uuid of version 7 greater than the one before: what is listed by id comes as it was made. */
export function nextId(): string {
  made += 1;
  return `01934f6e-0000-7000-8000-${made.toString(16).padStart(12, '0')}`;
}

type Content = { kind: 'webhook'; body: string } | { kind: 'email'; parts: unknown };

async function enqueue(
  pool: Pool,
  jobsOf: (eventId: string, contentId: string) => NewJob[],
  content: Content,
): Promise<string[]> {
  const queue = createPostgresQueue({ pool });
  const eventId = nextId();
  return createDatabase(pool).transaction(async (tx) => {
    const sql = sqlOf(tx);
    await sql.query(
      `INSERT INTO outbox_event (id, type, version, payload) VALUES ($1, 'comment.created', 1, '{}')`,
      [eventId],
    );
    const contentId = await queue.storeContent(sql, { ...content, eventId });
    const jobs = jobsOf(eventId, contentId);
    await queue.enqueue(sql, jobs);
    return jobs.map((job) => job.id);
  });
}

/** What a mail's content is made of, with one text. */
export function mailParts(text: string) {
  return {
    envelopeFrom: 'bounces@ghost.example',
    from: { name: 'Ghost', address: 'notifications@ghost.example' },
    subject: ['News'],
    text: [text],
    html: [`<p>${text}</p>`],
    date: '2026-11-29T12:00:00.000Z',
    messageIdDomain: 'ghost.example',
    headers: [['Auto-Submitted', ['auto-generated']]],
  };
}

async function readJobs(pool: Pool): Promise<SeededJob[]> {
  const { rows } = await pool.query<SeededJob>(
    `SELECT id, status, attempts, tries, lease_no::int AS "leaseNo", lease_until > now() IS TRUE AS leased,
       last_error AS "lastError", (extract(epoch FROM run_at - now()) * 1000)::float8 AS "dueInMs"
     FROM delivery_job ORDER BY created_at, id`,
  );
  return rows;
}

async function readAttempts(pool: Pool): Promise<SeededAttempt[]> {
  const { rows } = await pool.query<SeededAttempt>(
    `SELECT job_id AS "jobId", number, outcome, reason, status, message, body_excerpt AS "bodyExcerpt"
     FROM delivery_attempt ORDER BY id`,
  );
  return rows;
}
