import type { CancelTarget, Sql } from '../queue.js';

const CANCEL = 'SELECT delivery_cancel(ARRAY(';

/** Finds the pending jobs of a target and ends them, lanes locked first. */
export async function cancel(tx: Sql, target: CancelTarget, reason: string): Promise<number> {
  const [row] = await tx.query<{ cancelled: number }>(...statement(target, reason));
  return row?.cancelled ?? 0;
}

function statement(target: CancelTarget, reason: string): [string, unknown[]] {
  const pending = `status = 'pending'`;
  const end = '), $1) AS cancelled';
  if ('jobIds' in target) {
    return [`SELECT delivery_cancel($2::uuid[], $1) AS cancelled`, [reason, target.jobIds]];
  }
  if ('eventIds' in target) {
    return [
      `${CANCEL}SELECT id FROM delivery_job WHERE event_id = ANY ($2::uuid[]) AND ${pending} ORDER BY id${end}`,
      [reason, target.eventIds],
    ];
  }
  return [
    `${CANCEL}SELECT id FROM delivery_job WHERE repository_id = $2 AND account_id = $3 AND ${pending} ORDER BY id${end}`,
    [reason, target.repositoryId, target.accountId],
  ];
}
