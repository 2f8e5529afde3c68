import { Agent } from 'node:http';
import type { Pool } from '@ghost/db';

import { PATIENT } from '../support/patient.js';
import {
  addPerson,
  type ProofRow,
  startProofApi,
  startProofDatabase,
} from '../support/proof-world.js';
import { type Stops, withStops } from '../support/stops.js';
import { timedRequest } from '../support/timed-request.js';
import { waitUntil } from '../support/wait-until.js';

export const name =
  'Who loses access gets no mail after the answer, and a large repository is deleted at once';

const MAILS = 10_000;
const DOMAINS = 500;
const ANSWER_BOUND_MS = 1_000;
/** Of the repository that is deleted. */
const LARGE = { mails: 100_000, hooks: 5, webhooks: 20_000 };
const CLEAN_UP_BOUND_S = 300;

interface World {
  pool: Pool;
  url: string;
  agent: Agent;
  token: string;
}

type Change = Pick<Parameters<typeof timedRequest>[0], 'method' | 'body' | 'status'> & {
  below: string;
};

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const world = await start(stops);
    yield* loseAccess(
      world,
      `a member with ${MAILS.toLocaleString('en')} waiting mails is removed`,
      {
        repository: 'member',
        private: true,
        readers: 1,
        change: { method: 'DELETE', below: '/collaborators/reader-1', status: 204 },
      },
    );
    yield* loseAccess(
      world,
      `made private with ${MAILS.toLocaleString('en')} readers' waiting mail`,
      {
        repository: 'public',
        private: false,
        readers: MAILS,
        change: { method: 'PATCH', below: '', body: '{"private":true}', status: 200 },
      },
    );
    yield* deleteRepository(world);
  });
}

async function* loseAccess(
  world: World,
  what: string,
  scene: { repository: string; private: boolean; readers: number; change: Change },
): AsyncGenerator<ProofRow> {
  const { pool } = world;
  const repositoryId = await addRepository(pool, scene.repository, scene.private);
  if (scene.private) {
    await pool.query(
      `INSERT INTO member (repository_id, account_id, permission) SELECT $1, id, 'read' FROM account WHERE login = 'reader-1'`,
      [repositoryId],
    );
  }
  await addMails(pool, repositoryId, MAILS, scene.readers);
  const ms = await ask(world, scene.repository, scene.change);
  const { pending, ended } = await count(pool, repositoryId);
  yield {
    what: `${what}: the answer, after which none is left`,
    figure: `${ms.toFixed(0)} ms, ${ended.toLocaleString('en')} cancelled, ${pending} pending`,
    bound: `≤ ${ANSWER_BOUND_MS} ms, 0 pending`,
    ok: ms <= ANSWER_BOUND_MS && pending === 0 && ended === MAILS,
  };
}

async function* deleteRepository(world: World): AsyncGenerator<ProofRow> {
  const { pool } = world;
  const repositoryId = await addRepository(pool, 'large', false);
  await addMails(pool, repositoryId, LARGE.mails, MAILS);
  await addWebhooks(pool, repositoryId);
  const startedAt = performance.now();
  const ms = await ask(world, 'large', { method: 'DELETE', below: '', status: 204 });
  const jobs = LARGE.mails + LARGE.hooks * LARGE.webhooks;
  yield {
    what: `a repository with ${jobs.toLocaleString('en')} waiting jobs is deleted: the answer`,
    figure: `${ms.toFixed(0)} ms`,
    bound: `≤ ${ANSWER_BOUND_MS} ms`,
    ok: ms <= ANSWER_BOUND_MS,
  };
  const isOver = async () =>
    (await pool.query('SELECT FROM delivery_cancellation')).rowCount === 0 && performance.now();
  const endedAt = await waitUntil(isOver, {
    what: 'the clean-up to end',
    timeoutMs: 2_000 * CLEAN_UP_BOUND_S,
    everyMs: 500,
  });
  const { pending, ended } = await count(pool, repositoryId);
  const tookS = (endedAt - startedAt) / 1000;
  yield {
    what: 'they are cancelled behind',
    figure: `${ended.toLocaleString('en')} in ${tookS.toFixed(0)} s, ${pending} pending`,
    bound: `none pending within ${CLEAN_UP_BOUND_S} s`,
    ok: pending === 0 && ended === jobs && tookS <= CLEAN_UP_BOUND_S,
  };
}

function ask({ url, agent, token }: World, repository: string, change: Change): Promise<number> {
  const { below, ...asked } = change;
  return timedRequest({
    ...asked,
    url: `${url}/api/repos/ada/${repository}${below}`,
    agent,
    token,
  });
}

async function start(stops: Stops): Promise<World> {
  const { url: databaseUrl, pool } = await startProofDatabase(stops);
  const token = await addPerson(pool, 'ada');
  await pool.query(
    `INSERT INTO account (login, name) SELECT 'reader-' || n, 'Reader' FROM generate_series(1, $1::int) n`,
    [MAILS],
  );
  await pool.query(
    `INSERT INTO delivery_lane (lane, version, kind) SELECT 'mail:mail' || n || '.example', 1, 'email' FROM generate_series(0, $1::int - 1) n`,
    [DOMAINS],
  );
  const { url } = await startProofApi(stops, databaseUrl);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  stops.add(() => agent.destroy());
  return { pool, url, agent, token };
}

async function addRepository(pool: Pool, repository: string, isPrivate: boolean): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO repository (owner_id, name, private) SELECT id, $1, $2 FROM account WHERE login = 'ada' RETURNING id`,
    [repository, isPrivate],
  );
  await pool.query('INSERT INTO thread_counter (repository_id) VALUES ($1)', [rows[0]?.id]);
  return Number(rows[0]?.id);
}

async function addMails(
  pool: Pool,
  repositoryId: number,
  mails: number,
  readers: number,
): Promise<void> {
  await pool.query({
    ...PATIENT,
    text: `WITH content AS (
        INSERT INTO delivery_content (id, kind, parts) VALUES (gen_random_uuid(), 'email', '{}') RETURNING id
      ), reader AS (
        SELECT id, row_number() OVER (ORDER BY id) - 1 AS n FROM account WHERE login LIKE 'reader-%' ORDER BY id LIMIT $3
      )
      INSERT INTO delivery_job (id, idempotency_key, content_id, kind, version, lane, repository_id, account_id, own, expires_at)
      SELECT gen_random_uuid(), 'mail:' || $1::bigint || ':' || g.n, c.id, 'email', 1, 'mail:mail' || g.n % $4 || '.example', $1, r.id,
        '{"to":{"name":"Reader","address":"reader@mail.example"},"slots":{}}', now() + interval '7 days'
      FROM content c, generate_series(0, $2::int - 1) AS g(n) JOIN reader r ON r.n = g.n % $3::int`,
    values: [repositoryId, mails, readers, DOMAINS],
  });
  await pool.query('ANALYZE delivery_job');
}

async function addWebhooks(pool: Pool, repositoryId: number): Promise<void> {
  await pool.query({
    ...PATIENT,
    text: `WITH made AS (
        INSERT INTO hook (repository_id, url, events) SELECT $1, 'https://receiver.example/', '{*}' FROM generate_series(1, $2::int)
        RETURNING id
      ), content AS (
        INSERT INTO delivery_content (id, kind, body) VALUES (gen_random_uuid(), 'webhook', '{}') RETURNING id
      ), lanes AS (
        INSERT INTO delivery_lane (lane, version, kind, next_at) SELECT 'hook:' || id, 1, 'webhook', now() FROM made ORDER BY 1
      )
      INSERT INTO delivery_job (id, idempotency_key, content_id, kind, version, lane, repository_id, hook_id, own, expires_at)
      SELECT gen_random_uuid(), 'hook:' || h.id || ':' || n, c.id, 'webhook', 1, 'hook:' || h.id, $1, h.id,
        '{"event":"comment.created"}', now() + interval '7 days'
      FROM content c, made h, generate_series(1, $3::int) n`,
    values: [repositoryId, LARGE.hooks, LARGE.webhooks],
  });
  await pool.query('ANALYZE delivery_job');
}

async function count(
  pool: Pool,
  repositoryId: number,
): Promise<{ pending: number; ended: number }> {
  const { rows } = await pool.query<{ pending: number; ended: number }>(
    `SELECT count(*) FILTER (WHERE status = 'pending')::int AS pending, count(*) FILTER (WHERE status = 'cancelled')::int AS ended
     FROM delivery_job WHERE repository_id = $1`,
    [repositoryId],
  );
  return rows[0] ?? { pending: -1, ended: -1 };
}
