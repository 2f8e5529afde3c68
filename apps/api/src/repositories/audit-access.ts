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
  const repository = { id: access.repository.id, fullName: fullName(access) };
  await recordAccessChange(sqlOf(tx), { ...change, repository });
}
