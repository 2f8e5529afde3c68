import type { Pool } from '@ghost/db';

import type { JobState, LaneState } from './queue-states.js';

/** Those of the jobs that are there, by id. */
export async function jobStates(
  pool: Pool,
  ids: readonly string[],
): Promise<Map<string, JobState>> {
  const { rows } = await pool.query<JobState & { id: string }>(
    `SELECT id, status, attempts, tries, abandoned, lease_until > now() IS TRUE AS leased,
       extract(epoch FROM run_at - now())::float8 * 1000 AS "dueInMs", last_error AS "lastError"
     FROM delivery_job WHERE id = ANY ($1)`,
    [ids],
  );
  return new Map(rows.map(({ id, ...state }) => [id, state]));
}

/** Those of the lanes that are there, by name. */
export async function laneStates(
  pool: Pool,
  names: readonly string[],
): Promise<Map<string, LaneState>> {
  const { rows } = await pool.query<LaneState & { lane: string }>(
    `SELECT lane, slots AS "limit", standing, earned, failures,
       extract(epoch FROM now() - failing_since)::float8 * 1000 AS "failingForMs", held_reason IS NOT NULL AS held,
       coalesce(not_before > now(), false) AS resting, owner_id::integer AS "ownerId", host
     FROM delivery_lane WHERE lane = ANY ($1) AND version = 1`,
    [names],
  );
  return new Map(rows.map(({ lane, ...state }) => [lane, state]));
}

/** Lets time go by: makes every time that the queue keeps older. No transaction may hold a job or lane. */
export async function advanceQueue(pool: Pool, ms: number): Promise<void> {
  const known = agings.get(pool) ?? agingStatements(pool);
  agings.set(pool, known);
  for (const statement of await known) await pool.query(statement, [ms]);
}

const AGING = ['job', 'lane', 'cancellation', 'relay', 'relay_turn'].map(
  (name) => `delivery_${name}`,
);
const agings = new WeakMap<Pool, Promise<string[]>>();

/** The columns are asked for, so that none is forgotten; what ended keeps its times. */
async function agingStatements(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ statement: string }>(
    `SELECT format('UPDATE %I SET %s %s', table_name,
       string_agg(format('%1$I = %1$I - $1 * interval ''1 millisecond''', column_name), ', '),
       CASE table_name WHEN 'delivery_job' THEN 'WHERE finished_at IS NULL' ELSE '' END) AS statement
     FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name = ANY ($1)
       AND data_type = 'timestamp with time zone'
     GROUP BY table_name`,
    [AGING],
  );
  if (rows.length !== AGING.length) throw new Error('The tables of the queue are not there.');
  return rows.map(({ statement }) => statement);
}

/** Removes all jobs and lanes. */
export async function emptyQueue(pool: Pool): Promise<void> {
  const tables = ['attempt', 'cancellation', 'job', 'lane', 'lane_key'];
  for (const table of tables.map((name) => `delivery_${name}`)) {
    await pool.query(`DELETE FROM ${table}`);
  }
}
