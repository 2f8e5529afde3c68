import { randomUUID } from 'node:crypto';

import { inTransaction, type Pool, publishEvent } from '@ghost/db';
import { addAccount } from '@ghost/operations';
import {
  type Claim,
  createPostgresQueue,
  hookLane,
  mailLane,
  type Queue,
  type Settlement,
  sqlOf,
} from '@ghost/queue';

import { mailParts } from './delivery-seed.js';

/** For a claim of all that is due. */
export const CAPACITY = { version: 1, jobs: 100, lanes: 100 } as const;
export const FAILED = {
  outcome: 'retry',
  reason: 'http_500',
  charged: true,
  delayMs: 60_000,
} as const;
export const DEAD = {
  outcome: 'dead',
  reason: 'attempts_used',
  charged: true,
  delayMs: 0,
} as const;
export const DONE = { outcome: 'delivered', reason: null, charged: true, delayMs: 0 } as const;

/** A repository of ada with a hook and a reader, and one event that became a webhook and a mail. */
export interface JobScene {
  eventId: string;
  hookJob: string;
  mailJob: string;
  hookId: number;
}

export async function createJobScene(pool: Pool): Promise<JobScene> {
  const queue = createPostgresQueue({ pool });
  const ada = await addAccount(pool, { login: 'ada', email: 'ada@example.test' });
  const brian = await addAccount(pool, { login: 'brian', email: 'brian@example.test' });
  const repositoryId = await insertId(
    pool,
    `INSERT INTO repository (owner_id, name) VALUES ($1, 'demo') RETURNING id`,
    [ada.id],
  );
  const hookId = await insertId(
    pool,
    `INSERT INTO hook (repository_id, url, events) VALUES ($1, 'https://u:p@hooks.example.test/secret?token=T', '{*}') RETURNING id`,
    [repositoryId],
  );
  const eventId = await publishMember(pool, repositoryId, ada.id);
  const [hookJob, mailJob] = [randomUUID(), randomUUID()];
  await inTransaction(pool, async (tx) => {
    const sql = sqlOf(tx);
    const body = await queue.storeContent(sql, { kind: 'webhook', eventId, body: '{}' });
    const parts = mailParts('Hello');
    const mail = await queue.storeContent(sql, { kind: 'email', eventId, parts });
    await queue.enqueue(sql, [
      {
        id: hookJob,
        idempotencyKey: `webhook:${eventId}:${hookId}`,
        eventId,
        contentId: body,
        lane: hookLane(hookId),
        repositoryId,
        kind: 'webhook',
        hookId,
        own: { event: 'member.added' },
      },
      {
        id: mailJob,
        idempotencyKey: `email:${eventId}:${brian.id}`,
        eventId,
        contentId: mail,
        lane: mailLane('brian@example.test', false),
        repositoryId,
        kind: 'email',
        accountId: brian.id,
        own: { to: { name: 'Brian', address: 'brian@example.test' }, slots: {} },
      },
    ]);
  });
  return { eventId, hookJob, mailJob, hookId };
}

/** Reports the same of all claimed jobs. */
export async function settleAll(
  queue: Queue,
  { jobs }: Claim,
  outcome: Pick<Settlement, 'outcome' | 'reason' | 'charged' | 'delayMs'>,
): Promise<void> {
  await queue.settle(
    jobs.map(({ id, leaseNo, lane, version }) => ({
      id,
      leaseNo,
      lane,
      version,
      ...outcome,
      attempt: { startedAt: '2026-01-01T00:00:00Z', message: 'It answered 500.', status: 500 },
    })),
  );
}

function publishMember(pool: Pool, repositoryId: number, adaId: number): Promise<string> {
  const actor = { id: adaId, login: 'ada', name: 'Ada' };
  const repository = {
    id: repositoryId,
    owner: 'ada',
    name: 'demo',
    full_name: 'ada/demo',
    private: false,
    html_url: 'http://127.0.0.1/ada/demo',
  };
  return inTransaction(pool, (tx) =>
    publishEvent(tx, {
      type: 'member.added',
      repositoryId,
      payload: { repository, sender: actor, member: actor },
    }),
  );
}

async function insertId(pool: Pool, text: string, values: unknown[]): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(text, values);
  return Number(rows[0]?.id);
}
