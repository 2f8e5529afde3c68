import { inTransaction, type Pool, type Transaction } from '@ghost/db';
import { createPostgresQueue, hookLane, mailLane, type NewJob, sqlOf } from '@ghost/queue';

import { mailParts, nextId } from '../delivery-seed.js';
import { LOAD_BODY } from './preload.js';

export interface Reader {
  accountId: number;
  address: string;
}

/** Enqueues a webhook for each id as fan-out does: one content, one commit. Returns the jobs' ids. */
export function addJobs(pool: Pool, hookIds: readonly number[]): Promise<string[]> {
  return inTransaction(pool, (tx) => addJobsIn(pool, tx, hookIds));
}

/** The same in a transaction of the caller's. */
export function addJobsIn(
  pool: Pool,
  tx: Transaction,
  hookIds: readonly number[],
): Promise<string[]> {
  return enqueue(pool, tx, { kind: 'webhook', body: LOAD_BODY }, (contentId) =>
    hookIds.map((hookId) => ({
      ...common(contentId),
      lane: hookLane(hookId),
      kind: 'webhook',
      hookId,
      own: { event: 'comment.created' },
    })),
  );
}

/** Enqueues a mail for each reader, likewise; `bulk`: as those of an event with very many readers. */
export function addMails(pool: Pool, readers: readonly Reader[], bulk = false): Promise<string[]> {
  return inTransaction(pool, (tx) =>
    enqueue(pool, tx, { kind: 'email', parts: mailParts('A comment.') }, (contentId) =>
      readers.map(({ accountId, address }) => ({
        ...common(contentId),
        lane: mailLane(address, bulk),
        kind: 'email',
        accountId,
        own: { to: { name: 'Reader', address }, slots: {} },
      })),
    ),
  );
}

/** Accounts with a verified address each, `reader<n>@mail<n mod domains>.example`. */
export async function addReaders(pool: Pool, count: number, domains: number): Promise<Reader[]> {
  const { rows } = await pool.query<{ accountId: string; address: string }>(
    `WITH made AS (
       INSERT INTO account (login, name) SELECT 'reader-' || n, 'Reader' FROM generate_series(1, $1::int) n
       RETURNING id, split_part(login, '-', 2)::int AS n
     )
     INSERT INTO email_address (account_id, address, is_primary, verified_at)
     SELECT id, 'reader' || n || '@mail' || n % $2 || '.example', true, now() FROM made
     RETURNING account_id AS "accountId", address`,
    [count, domains],
  );
  return rows.map(({ accountId, address }) => ({ accountId: Number(accountId), address }));
}

type Content = { kind: 'webhook'; body: string } | { kind: 'email'; parts: unknown };

function common(contentId: string) {
  const id = nextId();
  return { id, idempotencyKey: `load:${id}`, eventId: null, contentId, repositoryId: null };
}

async function enqueue(
  pool: Pool,
  tx: Transaction,
  content: Content,
  jobsOf: (contentId: string) => NewJob[],
): Promise<string[]> {
  const queue = createPostgresQueue({ pool });
  const sql = sqlOf(tx);
  const eventId = nextId();
  await sql.query(
    `INSERT INTO outbox_event (id, type, version, payload) VALUES ($1, 'comment.created', 1, '{}')`,
    [eventId],
  );
  const jobs = jobsOf(await queue.storeContent(sql, { ...content, eventId }));
  await queue.enqueue(sql, jobs);
  return jobs.map((job) => job.id);
}
