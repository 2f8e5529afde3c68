import type { Pool } from '@ghost/db';

import { PATIENT } from '../patient.js';
import { progress } from '../progress.js';

const A_STATEMENT = 250_000;
/** Each job has so many attempts. */
const ATTEMPTS_A_JOB = 10;

export interface History {
  hookId: number;
  attempts: number;
  /** The last id before those of the attempts. */
  after?: number;
  /** Over as many days, the last of them tomorrow. */
  days: number;
  /** One in so many has the other outcome. */
  rareOneIn: number;
  rare: 'failed' | 'delivered';
  /** Hooks whose attempts are among them, one for ten. */
  otherHooks?: number;
}

/** Makes the partitions of so many days from today on, in which histories are written. */
export async function makeHistoryDays(pool: Pool, days: number): Promise<void> {
  await pool.query('SELECT delivery_attempt_make_days($1)', [days]);
}

/** Writes the attempts of a hook, by ids and days in order, as delivery would have left them. */
export async function addHistory(pool: Pool, history: History): Promise<void> {
  const { hookId, attempts, after = 0, days, rareOneIn, rare, otherHooks = 0 } = history;
  const content = await pool.query<{ id: string }>(
    `INSERT INTO delivery_content (id, kind, body) VALUES (gen_random_uuid(), 'webhook', '{}') RETURNING id`,
  );
  for (let from = 1; from <= attempts; from += A_STATEMENT) {
    const to = Math.min(attempts, from + A_STATEMENT - 1);
    await pool.query({
      ...PATIENT,
      text: INSERT_JOBS,
      values: [content.rows[0]?.id, hookId, from, to],
    });
    await pool.query({
      ...PATIENT,
      text: INSERT_ATTEMPTS,
      values: [
        ...[hookId, from, to, after, attempts, days],
        ...[rareOneIn, rare === 'failed', otherHooks],
      ],
    });
    progress(`${to.toLocaleString('en')} attempts of hook ${hookId} written`);
  }
}

/** As autovacuum would in time. */
export async function analyzeHistory(pool: Pool): Promise<void> {
  const client = await pool.connect();
  await client.query('SET statement_timeout = 0');
  await client.query({ ...PATIENT, text: 'ANALYZE delivery_attempt, delivery_job' });
  client.release(true);
}

const jobOf = (hook: string) => `md5(${hook}::bigint || ':' || n / ${ATTEMPTS_A_JOB})::uuid`;

const INSERT_JOBS = `
  INSERT INTO delivery_job (id, idempotency_key, content_id, kind, version, lane, hook_id, own, expires_at, status, finished_at)
  SELECT ${jobOf('$2')}, 'webhook:' || md5('event ' || n / ${ATTEMPTS_A_JOB})::uuid || ':' || $2::bigint, $1, 'webhook', 1, 'hook:' || $2::bigint, $2, '{"event":"thread.opened"}',
    now() + interval '7 days', 'delivered', now()
  FROM generate_series($3::int, $4::int) n WHERE n % ${ATTEMPTS_A_JOB} = 0`;

const INSERT_ATTEMPTS = `
  INSERT INTO delivery_attempt (id, job_id, lease_no, hook_id, number, started_at, finished_at, outcome, reason, status, timings,
    request_head, response_head, body_excerpt)
  OVERRIDING SYSTEM VALUE
  SELECT CASE WHEN own THEN $4::bigint + n ELSE $4::bigint + $5::bigint + n * $9::bigint + o END, ${jobOf('$1')}, n * ($9::bigint + 1) + o,
    CASE WHEN own THEN $1::bigint ELSE 1000000 + o END, 1, at, at,
    CASE WHEN failed THEN 'retry' ELSE 'delivered' END, CASE WHEN failed THEN 'http_500' END, CASE WHEN failed THEN 500 ELSE 200 END,
    '{"dns":1,"connect":2,"tls":9,"firstByte":20,"total":33}',
    jsonb_build_object('accept', '*/*', 'content-type', 'application/json; charset=utf-8', 'user-agent', 'Ghost-Delivery/0.1.0',
      'x-ghost-event', 'thread.opened', 'x-ghost-delivery', md5((n / 10)::text), 'x-ghost-attempt', '1',
      'webhook-signature', '[redacted]', 'traceparent', md5(n::text)),
    '{"server":"nginx","content-type":"text/plain","date":"Mon, 30 Nov 2026 12:00:00 GMT"}', 'ok'
  FROM generate_series($2::int, $3::int) n
  CROSS JOIN LATERAL (
    SELECT date_trunc('day', now()) + n::float8 / $5 * $6 * interval '1 day' AS at, (n % $7 = 0) = $8::boolean AS failed
  ) a
  CROSS JOIN LATERAL (SELECT 0 AS o, true AS own UNION ALL SELECT 1 + n % nullif($9, 0), false WHERE $9 > 0 AND n % 10 = 0) hooks`;
