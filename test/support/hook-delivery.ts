import { randomUUID } from 'node:crypto';
import { inTransaction, type Pool } from '@ghost/db';
import { createPostgresQueue, hookLane, sqlOf } from '@ghost/queue';

export interface AddedDelivery {
  jobId: string;
  eventId: string;
  /** Of its one attempt. */
  attemptId: number;
}

/** A delivery that ended, with one attempt; no worker and no receiver had a part in it. */
export async function addDelivery(
  pool: Pool,
  hook: { id: number; repositoryId: number },
  { body = '{"hello":"world"}', event = 'thread.opened', commentId = null as number | null } = {},
): Promise<AddedDelivery> {
  const queue = createPostgresQueue({ pool });
  const [jobId, eventId] = [randomUUID(), randomUUID()];
  await inTransaction(pool, async (tx) => {
    const sql = sqlOf(tx);
    await sql.query(
      `INSERT INTO outbox_event (id, type, version, repository_id, comment_id, payload, processed_at)
       VALUES ($1, $2, 1, $3, $4, '{}', now())`,
      [eventId, event, hook.repositoryId, commentId],
    );
    const contentId = await queue.storeContent(sql, { kind: 'webhook', eventId, body });
    await queue.enqueue(sql, [
      {
        id: jobId,
        idempotencyKey: `webhook:${eventId}:${hook.id}`,
        eventId,
        contentId,
        lane: hookLane(hook.id),
        repositoryId: hook.repositoryId,
        kind: 'webhook',
        hookId: hook.id,
        own: { event },
      },
    ]);
  });
  await pool.query(
    `UPDATE delivery_job SET status = 'delivered', finished_at = now(), tries = 1, attempts = 1, lease_no = 1 WHERE id = $1`,
    [jobId],
  );
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO delivery_attempt (job_id, lease_no, hook_id, number, started_at, outcome, status)
     VALUES ($1, 1, $2, 1, now(), 'delivered', 200) RETURNING id`,
    [jobId, hook.id],
  );
  return { jobId, eventId, attemptId: Number(rows[0]?.id) };
}
