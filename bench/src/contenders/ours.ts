import { createHash } from 'node:crypto';
import path from 'node:path';

import { inClientTransaction, type Pool } from '@ghost/db';
import { createPostgresQueue, hookLane, type NewJob, type Queue, sqlOfClient } from '@ghost/queue';
import { encrypt, hookSecretContext, type KeyRing, parseKeyRing } from '@ghost/vault';
import pg from 'pg';

import { type BenchJob, EVENT, hookUrl, inBatches, SECRET } from '../load.js';
import { createDatabaseFrom, dropDatabase } from '../postgres.js';
import { freePort } from '../process/free-port.js';
import { startProcess } from '../process/start-process.js';
import type { Contender, OpenQueue, Place } from './contender.js';

/** The migrated database that `main` makes once. */
export const TEMPLATE = 'ghost';
const HOOKS_PER_OWNER = 10;
const DELIVERY = path.resolve(import.meta.dirname, '../../apps/delivery/dist/main.js');
/** 32 bytes that are no secret. */
const SECRET_KEYS = `bench:${createHash('sha256').update('bench').digest('base64')}`;

/**
 * The delivery process as it is shipped, with its defaults: attempt rows, address check, caps,
 * metrics and one log line an attempt. Only loopback is allowed besides.
 */
export const ours: Contender = {
  name: 'ours',
  store: 'postgres',
  open: async (place) => {
    const databaseUrl = await createDatabaseFrom(place.postgresUrl, TEMPLATE);
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
    const queue = createPostgresQueue({ pool });
    const repositories = await seedHooks(client, place);
    const enqueue = (jobs: readonly BenchJob[]) =>
      enqueueIn(pool, queue, jobs, (hook) => repositories.get(hook) ?? null);
    return {
      databaseUrl,
      preload: async (jobs) => {
        for (const batch of inBatches(jobs)) await enqueue(batch);
      },
      add: (job) => enqueue([job]),
      startWorker: (options) => startDelivery(databaseUrl, place, options?.nodeFlags ?? []),
      close: async () => {
        await pool.end();
        await client.end();
        await dropDatabase(place.postgresUrl, databaseUrl);
      },
    } satisfies OpenQueue;
  },
};

/** Defaults, and what has none. */
export function deliverySettings(databaseUrl: string): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    GHOST_SECRET_KEYS: SECRET_KEYS,
    GHOST_ALLOW_CIDRS: '127.0.0.0/8',
  };
}

async function startDelivery(databaseUrl: string, place: Place, nodeFlags: readonly string[]) {
  const port = await freePort();
  return startProcess({
    name: 'delivery',
    command: [process.execPath, ...nodeFlags, DELIVERY],
    env: { ...deliverySettings(databaseUrl), PORT: String(port) },
    logFile: path.join(place.folder, 'delivery.log'),
    ready: '"delivery.started"',
  });
}

/**
 * Makes the hooks 1 to `hooks`; returns the repository of each. Many owners, as in production: the
 * share of one owner or host is not what limits a round.
 */
async function seedHooks(
  client: pg.Client,
  { hooks, receiverPort }: Place,
): Promise<Map<number, number>> {
  const owners = Math.ceil(hooks / HOOKS_PER_OWNER);
  await client.query(
    `INSERT INTO account (login, name) SELECT 'owner-' || n, 'Owner' FROM generate_series(1, $1::int) n`,
    [owners],
  );
  await client.query(`INSERT INTO repository (owner_id, name) SELECT id, 'bench' FROM account`);
  const numbers = Array.from({ length: hooks }, (_, index) => index + 1);
  const { rows } = await client.query<{ id: string; repository_id: string }>(
    `INSERT INTO hook (repository_id, url, events)
     SELECT ids[1 + n % cardinality(ids)], url, '{*}'
     FROM (SELECT array_agg(id) AS ids FROM repository) r, unnest($1::int[], $2::text[]) AS h(n, url)
     ORDER BY n RETURNING id, repository_id`,
    [numbers, numbers.map((hook) => hookUrl(hook, receiverPort))],
  );
  const ring = keyRing();
  const sealed = rows.map(({ id }) => encrypt(ring, SECRET, hookSecretContext(id)));
  await client.query(
    `INSERT INTO hook_secret (hook_id, ciphertext) SELECT * FROM unnest($1::bigint[], $2::text[])`,
    [rows.map(({ id }) => id), sealed],
  );
  return new Map(rows.map((row) => [Number(row.id), Number(row.repository_id)]));
}

function keyRing(): KeyRing {
  const parsed = parseKeyRing(SECRET_KEYS);
  if (!parsed.ok) throw new Error(parsed.faults.join(' '));
  return parsed.ring;
}

/** As fan-out does, and each job an event of its own with a body of its own: what the peers store too. */
async function enqueueIn(
  pool: Pool,
  queue: Queue,
  jobs: readonly BenchJob[],
  repositoryOf: (hook: number) => number | null,
): Promise<void> {
  const ids = jobs.map(({ id }) => id);
  await inClientTransaction(pool, async (client) => {
    await client.query(
      `INSERT INTO outbox_event (id, type, version, payload, processed_at)
       SELECT id, $2, 1, '{}', now() FROM unnest($1::uuid[]) AS id`,
      [ids, EVENT],
    );
    await client.query(
      `INSERT INTO delivery_content (id, event_id, kind, body)
       SELECT id, id, 'webhook', body FROM unnest($1::uuid[], $2::text[]) AS c(id, body)`,
      [ids, jobs.map(({ body }) => body)],
    );
    await queue.enqueue(
      sqlOfClient(client),
      jobs.map((job) => newJob(job, repositoryOf(job.hook))),
    );
  });
}

function newJob({ id, hook }: BenchJob, repositoryId: number | null): NewJob {
  return {
    id,
    idempotencyKey: `webhook:${id}:${hook}`,
    eventId: id,
    contentId: id,
    lane: hookLane(hook),
    repositoryId,
    kind: 'webhook',
    hookId: hook,
    own: { event: EVENT },
  };
}
