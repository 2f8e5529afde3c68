import type { Transaction } from '@ghost/db';
import { type AccessChange, recordAccessChange } from '@ghost/operations';
import { sqlOf } from '@ghost/queue';

import type { RepositoryAccess } from './repository-access.js';
import { fullName } from './repository-view.js';

/** Writes the audit's line for a change in a repository, in its transaction. */
export async function auditAccess(
  tx: Transaction,
  access: RepositoryAccess,
  change: Omit<AccessChange, 'repository'>,
): Promise<void> {
  await recordAccessChange(sqlOf(tx), { ...change, repository: auditedRepository(access) });
}

/** The repository as the audit names it. */
export function auditedRepository(
  access: RepositoryAccess,
): NonNullable<AccessChange['repository']> {
  return { id: access.repository.id, fullName: fullName(access) };
}
