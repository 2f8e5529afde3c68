import { randomBytes } from 'node:crypto';

import pg from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';

import { migrate, migrationState } from './migrate.js';

async function emptyDatabase(): Promise<string> {
  const base = inject('databaseBaseUrl');
  const name = `ghost_empty_${randomBytes(6).toString('hex')}`;
  const run = async (text: string) => {
    const client = new pg.Client({ connectionString: base });
    await client.connect();
    await client.query(text);
    await client.end();
  };
  await run(`CREATE DATABASE ${name} TEMPLATE template0`);
  onTestFinished(() => run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  const url = new URL(base);
  url.pathname = `/${name}`;
  return url.href;
}

test('migrating at once from three places applies each migration once', async () => {
  const url = await emptyDatabase();
  const before = await migrationState(url);
  expect(before.applied).toBe(0);
  expect(before.pending.length).toBeGreaterThan(0);
  const states = await Promise.all([migrate(url), migrate(url), migrate(url)]);
  for (const state of states)
    expect(state).toEqual({ applied: before.pending.length, pending: [] });
  expect(await migrationState(url)).toEqual({ applied: before.pending.length, pending: [] });
});

test('history has a partition for today and the days ahead, and making them again changes nothing', async () => {
  const url = await emptyDatabase();
  await migrate(url);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const made = await client.query<{ made: number }>('SELECT delivery_attempt_make_days(3) AS made');
  expect(made.rows).toEqual([{ made: 0 }]);
  await client.query(
    `INSERT INTO delivery_attempt (job_id, lease_no, started_at, outcome)
     VALUES ('018f0000-0000-7000-8000-000000000001', 1, now(), 'delivered')`,
  );
  const { rows } = await client.query<{ part: string }>(
    'SELECT tableoid::regclass::text AS part FROM delivery_attempt',
  );
  expect(rows[0]?.part).toMatch(/^delivery_attempt_\d{8}$/u);
  await client.end();
});

// Plans that are steered by switching nodes off cost 1e10 on paper: a server with LLVM then compiles
// each of them at each call (20 events took 5.5 s instead of 0.25 s).
test('every function that steers its plan switches just-in-time compilation off', async () => {
  const url = await emptyDatabase();
  await migrate(url);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ name: string; steered: boolean; jit: boolean }>(
    `SELECT proname AS name, proconfig::text LIKE '%enable\\_%' AS steered, proconfig::text LIKE '%jit=off%' AS jit
     FROM pg_proc WHERE proconfig IS NOT NULL AND pronamespace = 'public'::regnamespace`,
  );
  await client.end();
  const steered = rows.filter((row) => row.steered);
  expect(steered.length).toBeGreaterThan(0);
  expect(steered.filter((row) => !row.jit)).toEqual([]);
});
