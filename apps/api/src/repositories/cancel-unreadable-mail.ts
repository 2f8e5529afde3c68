import { mayReadSql, schema, type Transaction } from '@ghost/db';
import { type Queue, sqlOf } from '@ghost/queue';
import { and, asc, eq, not } from 'drizzle-orm';

/**
 * Ends the waiting mail of everybody who can read the repository no more, as the transaction sees it.
 * To be called with fan-out locked out, after the change that took access away.
 * @returns how many mails were cancelled
 */
export async function cancelUnreadableMail(
  tx: Transaction,
  queue: Queue,
  repositoryId: number,
): Promise<number> {
  const { deliveryJob, repository } = schema;
  const lost = await tx
    .select({ id: deliveryJob.id })
    .from(deliveryJob)
    .innerJoin(repository, eq(repository.id, deliveryJob.repositoryId))
    .where(
      and(
        eq(deliveryJob.repositoryId, repositoryId),
        eq(deliveryJob.status, 'pending'),
        eq(deliveryJob.kind, 'email'),
        not(mayReadSql(deliveryJob.accountId)),
      ),
    )
    .orderBy(asc(deliveryJob.id));
  const jobIds = lost.map(({ id }) => id);
  return queue.cancel(sqlOf(tx), { jobIds }, 'access_lost');
}
