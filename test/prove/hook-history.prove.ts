import { Agent } from 'node:http';
import type { Pool } from '@ghost/db';

import {
  addPerson,
  type ProofRow,
  startProofApi,
  startProofDatabase,
} from '../support/proof-world.js';
import { median } from '../support/quantile.js';
import { type Stops, withStops } from '../support/stops.js';
import { timedRequest } from '../support/timed-request.js';

export const name = 'A page of a long history costs the same, wherever it is';

const ATTEMPTS = 3_000_000;
const A_STATEMENT = 250_000;
/** As many as are kept by default. */
const DAYS = 30;
const OTHER_HOOKS = 20;
/** One in so many of the attempts failed. */
const FAILED_ONE_IN = 1000;
/** Attempts of one delivery. */
const A_JOB = 10;
const TRIES = 31;
const WARM_UP_TRIES = 5;
const BOUND_MS = 50;

const PER_PAGE = 30;
const PAGES = {
  first: null,
  middle: ATTEMPTS / 2,
  last: PER_PAGE + 1,
} as const;
const FILTERS = { all: '', delivered: '&status=success', failed: '&status=failure' } as const;

interface World {
  pool: Pool;
  agent: Agent;
  token: string;
  /** Of the hook's deliveries. */
  url: string;
}

/** Asked over HTTP, so that the bound holds for the database all the more. */
export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const world = await start(stops);
    for (const [where, after] of Object.entries(PAGES)) {
      for (const [which, filter] of Object.entries(FILTERS)) {
        // The last of the failed are further apart.
        const apart = where === 'last' && which === 'failed' ? FAILED_ONE_IN : 1;
        const cursor = after === null ? '' : `&cursor=${cursorAfter(after * apart)}`;
        yield await measure(
          world,
          `${where} page, ${which}`,
          `?per_page=${PER_PAGE}${filter}${cursor}`,
        );
      }
    }
    yield await measure(world, 'one attempt, in the middle', `/${ATTEMPTS / 2}`);
    for (const [by, value] of Object.entries(await middleDelivery(world))) {
      yield await measure(world, `the attempts of one delivery, by ${by}`, `?${by}=${value}`);
    }
  });
}

/** A delivery, and its event, whose attempts are amidst the others. */
async function middleDelivery({ pool }: World): Promise<Record<'guid' | 'event_id', string>> {
  const { rows } = await pool.query<{ guid: string; event_id: string }>(
    `SELECT md5(n::text)::uuid AS guid, md5('event ' || n)::uuid AS event_id FROM (SELECT $1::int AS n) one`,
    [ATTEMPTS / 2 / A_JOB],
  );
  if (rows[0] === undefined) throw new Error('A statement without a table returned no row');
  return rows[0];
}

/** As `Link` has it, for places that no page leads to soon. */
function cursorAfter(id: number): string {
  return Buffer.from(`deliveries:${id}`).toString('base64url');
}

async function measure(
  { url, agent, token }: World,
  what: string,
  below: string,
): Promise<ProofRow> {
  const took: number[] = [];
  for (let tries = -WARM_UP_TRIES; tries < TRIES; tries++) {
    const ms = await timedRequest({
      method: 'GET',
      url: `${url}${below}`,
      agent,
      token,
      status: 200,
    });
    if (tries >= 0) took.push(ms);
  }
  const ms = median(took);
  return {
    what: `${what} of ${ATTEMPTS.toLocaleString('en')} attempts: median`,
    figure: `${ms.toFixed(1)} ms, worst ${Math.max(...took).toFixed(1)}`,
    bound: `≤ ${BOUND_MS} ms`,
    ok: ms <= BOUND_MS,
  };
}

async function start(stops: Stops): Promise<World> {
  const { url: databaseUrl, pool } = await startProofDatabase(stops);
  const token = await addPerson(pool, 'ada');
  const { url } = await startProofApi(stops, databaseUrl);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  stops.add(() => agent.destroy());
  const hookId = await addHook(pool);
  await fill(pool, hookId);
  return { pool, agent, token, url: `${url}/api/repos/ada/engine/hooks/${hookId}/deliveries` };
}

async function addHook(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    `WITH made AS (INSERT INTO repository (owner_id, name) SELECT id, 'engine' FROM account RETURNING id)
     INSERT INTO hook (repository_id, url, events) SELECT id, 'https://receiver.example/', '{*}' FROM made RETURNING id`,
  );
  return Number(rows[0]?.id);
}

/** `pg` reads a client-side time-out from the query, though its types do not say so. */
const PATIENT = { query_timeout: 600_000 } as object;

/** Attempts over as many days as are kept, with some of other hooks among them; ten for each job. */
async function fill(pool: Pool, hookId: number): Promise<void> {
  await pool.query('SELECT delivery_attempt_make_days($1)', [DAYS]);
  const content = await pool.query<{ id: string }>(
    `INSERT INTO delivery_content (id, kind, body) VALUES (gen_random_uuid(), 'webhook', '{}') RETURNING id`,
  );
  for (let from = 1; from <= ATTEMPTS; from += A_STATEMENT) {
    const to = from + A_STATEMENT - 1;
    await pool.query({
      ...PATIENT,
      text: INSERT_JOBS,
      values: [content.rows[0]?.id, hookId, from, to],
    });
    await pool.query({
      ...PATIENT,
      text: INSERT_ATTEMPTS,
      values: [hookId, from, to, ATTEMPTS, DAYS, FAILED_ONE_IN, OTHER_HOOKS],
    });
    process.stderr.write(`${to.toLocaleString('en')} attempts written\n`);
  }
  const client = await pool.connect();
  await client.query('SET statement_timeout = 0');
  await client.query({ ...PATIENT, text: 'ANALYZE delivery_attempt, delivery_job' });
  client.release(true);
}

const INSERT_JOBS = `
  INSERT INTO delivery_job (id, idempotency_key, content_id, kind, version, lane, hook_id, own, expires_at, status, finished_at)
  SELECT md5((n / 10)::text)::uuid, 'webhook:' || md5('event ' || n / 10)::uuid || ':' || $2::bigint, $1, 'webhook', 1, 'hook:' || $2::bigint, $2, '{"event":"thread.opened"}',
    now() + interval '7 days', 'delivered', now()
  FROM generate_series($3::int, $4::int) n WHERE n % 10 = 0`;

const INSERT_ATTEMPTS = `
  INSERT INTO delivery_attempt (id, job_id, lease_no, hook_id, number, started_at, finished_at, outcome, reason, status, timings,
    request_head, response_head, body_excerpt)
  OVERRIDING SYSTEM VALUE
  SELECT CASE WHEN own THEN n ELSE $4::bigint + n * $7::bigint + o END, md5((n / 10)::text)::uuid, n * ($7::bigint + 1) + o,
    CASE WHEN own THEN $1::bigint ELSE $1 + 1 + o END, 1, at, at,
    CASE WHEN failed THEN 'retry' ELSE 'delivered' END, CASE WHEN failed THEN 'http_500' END, CASE WHEN failed THEN 500 ELSE 200 END,
    '{"dns":1,"connect":2,"tls":9,"firstByte":20,"total":33}',
    jsonb_build_object('accept', '*/*', 'content-type', 'application/json; charset=utf-8', 'user-agent', 'Ghost-Delivery/0.1.0',
      'x-ghost-event', 'thread.opened', 'x-ghost-delivery', md5((n / 10)::text), 'x-ghost-attempt', '1',
      'webhook-signature', '[redacted]', 'traceparent', md5(n::text)),
    '{"server":"nginx","content-type":"text/plain","date":"Mon, 30 Nov 2026 12:00:00 GMT"}', 'ok'
  FROM generate_series($2::int, $3::int) n
  CROSS JOIN LATERAL (SELECT date_trunc('day', now()) + n::float8 / $4 * $5 * interval '1 day' AS at, n % $6 = 0 AS failed) a
  CROSS JOIN LATERAL (SELECT 0 AS o, true AS own UNION ALL SELECT 1 + n % $7, false WHERE n % 10 = 0) hooks`;
