import { REPLAY_CHANNEL } from '@ghost/db';

import { hookLane } from '../lane.js';
import type { DeletedTarget, Sql } from '../queue.js';

/** Notes deleted targets, lanes in their order, and keeps what is pending of them from being sent. */
export async function cancelLater(
  tx: Sql,
  targets: readonly DeletedTarget[],
  reason: string,
): Promise<void> {
  const lanes = targets.flatMap((target) => ('hookId' in target ? hookLane(target.hookId) : []));
  const repositories = targets.flatMap((target) =>
    'repositoryId' in target ? target.repositoryId : [],
  );
  for (const lane of lanes.toSorted()) await tx.query(CANCEL_LATER, [lane, null, reason]);
  // A replay of a hook that was held or inactive sleeps, and ends with its hook.
  if (lanes.length > 0) await tx.query('SELECT pg_notify($1, $2)', [REPLAY_CHANNEL, '']);
  for (const id of repositories) await tx.query(CANCEL_LATER, [null, id, reason]);
}

const CANCEL_LATER = 'SELECT delivery_cancel_later($1, $2, $3)';
