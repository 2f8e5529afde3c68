import { schema, type Transaction } from '@ghost/db';
import { count, eq, sql } from 'drizzle-orm';

import { invalidField } from '../http/api-error.js';
import type { RepositoryAccess } from '../repositories/repository-access.js';
import type { NewHook } from './hook-schemas.js';
import type { HookRow } from './hook-view.js';

/** GitHub's bound, an event type; here for a repository, as each event is a job for each hook. */
const MAX_HOOKS = 20;

/** @throws ApiError 422 when the repository has as many hooks as it may */
export async function insertHook(
  tx: Transaction,
  { repository }: RepositoryAccess,
  { events, filters, active, config }: NewHook,
  url: string,
): Promise<HookRow> {
  await requireRoom(tx, repository.id);
  const [hook] = await tx
    .insert(schema.hook)
    .values({
      repositoryId: repository.id,
      url,
      events,
      filters,
      active,
      githubSignature: config.github_signature,
      insecureSsl: config.insecure_ssl,
      rateLimit: config.rate_limit,
    })
    .returning();
  if (hook === undefined) throw new Error('The insert of a hook returned no row');
  return hook;
}

/**
 * Two at once must not both see the last free place; the lock is no row's, so fan-out never waits for it.
 * It comes after the lock on the repository, which stays until the hook is there.
 */
async function requireRoom(tx: Transaction, repositoryId: number): Promise<void> {
  await tx.execute(
    sql`SELECT pg_advisory_xact_lock(hashtextextended(${`hooks of ${repositoryId}`}, 0))`,
  );
  const [found] = await tx
    .select({ hooks: count() })
    .from(schema.hook)
    .where(eq(schema.hook.repositoryId, repositoryId));
  if ((found?.hooks ?? 0) >= MAX_HOOKS) {
    throw invalidField(
      'hooks',
      'too_many',
      `A repository has at most ${MAX_HOOKS} hooks. Delete one first.`,
    );
  }
}
