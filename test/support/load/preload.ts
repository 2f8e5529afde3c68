import type { Pool } from '@ghost/db';
import { hookLane } from '@ghost/queue';
import { encrypt } from '@ghost/vault';

import { keyRing, SEED_SECRET } from '../delivery-seed.js';
import { PATIENT } from '../patient.js';
import { proveLanes } from '../prove-lanes.js';
import { waitUntil } from '../wait-until.js';

/** A kilobyte, as a comment's webhook has. */
export const LOAD_BODY = JSON.stringify({ action: 'created', text: 'A comment. '.repeat(86) });
/** Rows of one statement: a server's log and memory stay small. */
const BATCH = 100_000;
const WRITTEN_WITHIN_MS = 120_000;
/** Autovacuum looks once a minute, and has many tables: some time without any. */
const QUIET_LOOKS = 100;

export interface Preload {
  hookIds: readonly number[];
  /** Jobs in all, dealt out to the hooks in turns. */
  jobs: number;
  /** `due` now, or already `delivered`. */
  state?: 'due' | 'delivered';
  /** Their lanes have had successes lately and earned all slots; else they have shown nothing yet. */
  proven?: boolean;
  onProgress?: (jobs: number) => void;
}

/** Makes active hooks with one secret each, `url` of 0 and on; returns their ids in that order. */
export async function addHooks(
  pool: Pool,
  count: number,
  url: (n: number) => string,
): Promise<number[]> {
  const urls = Array.from({ length: count }, (_, n) => url(n));
  const { rows } = await pool.query<{ id: string }>(
    `WITH repo AS (
       SELECT r.id FROM repository r JOIN account a ON a.id = r.owner_id WHERE a.login = 'ghost'
     ), made AS (
       INSERT INTO hook (repository_id, url, events)
       SELECT repo.id, u.url, ARRAY['*'] FROM repo, unnest($1::text[]) WITH ORDINALITY AS u(url, place) ORDER BY u.place
       RETURNING id
     )
     SELECT id FROM made ORDER BY id`,
    [urls],
  );
  await addSecrets(
    pool,
    rows.map(({ id }) => id),
  );
  return rows.map(({ id }) => Number(id));
}

/** Gives each hook a secret, without which nothing is sent to it. */
export async function addSecrets(pool: Pool, hookIds: readonly string[]): Promise<void> {
  const keys = keyRing();
  const sealed = hookIds.map((id) =>
    encrypt(keys, SEED_SECRET, { row: id, purpose: 'hook_secret' }),
  );
  await pool.query(
    'INSERT INTO hook_secret (hook_id, ciphertext) SELECT * FROM unnest($1::bigint[], $2::text[])',
    [hookIds, sealed],
  );
}

/**
 * Writes webhook jobs by set-based SQL, without waking anybody: their lanes stay closed until
 * `openLanes`. They share one content, and a thousand of them one due time, as a page of fan-out does.
 */
export async function preloadJobs(pool: Pool, preload: Preload): Promise<void> {
  const { hookIds, jobs, state = 'due', proven = false, onProgress } = preload;
  const client = await pool.connect();
  let since: string;
  try {
    await client.query(`SET synchronous_commit = off; SET statement_timeout = '10min'`);
    since = await firstDue(client, jobs);
    const contentId = await addContent(client);
    for (let from = 0; from < jobs; from += BATCH) {
      const to = Math.min(jobs, from + BATCH);
      const values = [contentId, hookIds, from, to - 1, state, since];
      await client.query({ text: INSERT_JOBS, values, ...PATIENT });
      onProgress?.(to);
    }
  } finally {
    // Its settings go with it.
    client.release(true);
  }
  await addLanes(pool, hookIds);
  // As an enqueue does: the first of the jobs.
  await changeLanes(pool, hookIds, `mark = least(mark, '${since}')`);
  if (proven) await proveLanes(pool, hookIds.map(hookLane));
}

/** What `preloadJobs` and `closeLanes` kept back is due from this commit on. */
export async function openLanes(pool: Pool, hookIds: readonly number[]): Promise<void> {
  await changeLanes(
    pool,
    hookIds,
    'next_at = now(), held_reason = NULL, held_at = NULL, not_before = NULL, "full" = false',
  );
  await pool.query(`SELECT pg_notify('ghost_delivery', '')`);
}

/** Holds the lanes, as an operator would. */
export async function closeLanes(pool: Pool, hookIds: readonly number[]): Promise<void> {
  await changeLanes(pool, hookIds, `next_at = 'infinity', held_reason = 'proof', held_at = now()`);
}

/** What was written in bulk is on the disk, and its first vacuum is over. */
export async function untilWritten(pool: Pool): Promise<void> {
  await pool.query('CHECKPOINT');
  let quiet = 0;
  await waitUntil(
    async () => {
      const { rowCount } = await pool.query(
        "SELECT FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'",
      );
      quiet = rowCount === 0 ? quiet + 1 : 0;
      return quiet > QUIET_LOOKS;
    },
    { what: 'the vacuum of the new rows to end', timeoutMs: WRITTEN_WITHIN_MS },
  );
}

/** Locks in order first, as everybody does: an UPDATE alone could cross a settle, and deadlock. */
async function changeLanes(pool: Pool, hookIds: readonly number[], change: string): Promise<void> {
  await pool.query(
    `WITH locked AS MATERIALIZED (
       SELECT lane, version FROM delivery_lane
       WHERE lane = ANY (SELECT 'hook:' || id FROM unnest($1::bigint[]) id) ORDER BY lane, version FOR UPDATE
     )
     UPDATE delivery_lane d SET ${change} FROM locked l WHERE d.lane = l.lane AND d.version = l.version`,
    [hookIds],
  );
}

const INSERT_JOBS = `
  INSERT INTO delivery_job (id, idempotency_key, content_id, kind, version, lane, hook_id, own, run_at, created_at, expires_at,
    status, finished_at, attempts, tries)
  SELECT uuidv7(), 'load:' || gen_random_uuid(), $1, 'webhook', 1, 'hook:' || h.id, h.id, '{"event":"comment.created"}',
    d.due, d.due, d.due + interval '7 days', CASE WHEN $5 = 'due' THEN 'pending' ELSE $5 END,
    CASE WHEN $5 = 'due' THEN NULL ELSE now() END, ($5 <> 'due')::int, ($5 <> 'due')::int
  FROM generate_series($3::int, $4::int) AS n
  CROSS JOIN LATERAL (SELECT ($2::bigint[])[1 + n % cardinality($2::bigint[])] AS id) h
  CROSS JOIN LATERAL (SELECT $6::timestamptz + n / 1000 * interval '10 milliseconds' AS due) d`;

/** The due time of the first of so many jobs, with that of the last just over. */
async function firstDue(client: Pick<Pool, 'query'>, jobs: number): Promise<string> {
  const { rows } = await client.query<{ since: string }>(
    `SELECT (now() - $1::int / 1000 * interval '10 milliseconds')::text AS since`,
    [jobs],
  );
  return String(rows[0]?.since);
}

async function addContent(pool: Pick<Pool, 'query'>): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO delivery_content (id, kind, body) VALUES (uuidv7(), 'webhook', $1) RETURNING id`,
    [LOAD_BODY],
  );
  return String(rows[0]?.id);
}

/** Each has an owner and a host of its own, as if as many people had made the hooks. */
async function addLanes(pool: Pool, hookIds: readonly number[]): Promise<void> {
  await pool.query(
    `INSERT INTO delivery_lane (lane, version, kind, owner_id, host)
     SELECT 'hook:' || id, 1, 'webhook', id, 'host-' || id FROM unnest($1::bigint[]) id ORDER BY 1`,
    [hookIds],
  );
}
