import type { Transaction } from '@ghost/db';
import type { AccessChange } from '@ghost/operations';

import type { Account } from '../accounts/current-account.js';
import { auditAccess } from '../repositories/audit-access.js';
import type { RepositoryAccess } from '../repositories/repository-access.js';
import type { HookRow } from './hook-view.js';

/** What an edit of a hook can change, as the audit names it. */
export const HOOK_FIELDS = ['url', 'events', 'active', 'github_signature', 'secret'] as const;
export type HookField = (typeof HOOK_FIELDS)[number];

/** What happened to a hook. */
export type HookChange =
  | { action: 'hook.added'; after: HookRow }
  | { action: 'hook.changed'; changed: readonly HookField[]; before: HookRow; after: HookRow }
  | { action: 'hook.removed'; before: HookRow };

/** Writes the audit's line for a change of a hook, in its transaction. */
export async function auditHook(
  tx: Transaction,
  actor: Account,
  access: RepositoryAccess,
  { action, ...change }: HookChange,
): Promise<void> {
  await auditAccess(tx, access, { action, actor, detail: detailOf(change) });
}

type Sides = { before?: HookRow; after?: HookRow; changed?: readonly HookField[] };

function detailOf({ before, after, changed }: Sides): NonNullable<AccessChange['detail']> {
  return {
    hook: (after ?? before)?.id,
    ...(changed === undefined ? {} : { changed }),
    ...(before === undefined ? {} : { before: shownOf(before) }),
    ...(after === undefined ? {} : { after: shownOf(after) }),
  };
}

/** Of the URL only where it leads: paths and queries often hold a secret. */
function shownOf({ events, active, url }: HookRow) {
  return { events, active, origin: new URL(url).origin };
}
