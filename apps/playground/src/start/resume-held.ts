import type { Pool } from '@ghost/db';
import { listLanes, resumeLane } from '@ghost/operations';
import { createPostgresQueue, hookLane } from '@ghost/queue';

import type { DemoData } from '../demo/demo-data.js';

/**
 * Ends what an experiment of an earlier run held (a 410 outlives it): the demo's own hooks only, as the
 * receiver forgot what it was told.
 * @returns a line for each held lane: that it goes on, or how to make it
 */
export async function resumeHeld(
  pool: Pool,
  { repositories }: Pick<DemoData, 'repositories'>,
): Promise<string[]> {
  const own = new Map(
    repositories
      .flatMap(({ hooks }) => hooks)
      .map((hook) => [hookLane(hook.id), hook.name] as const),
  );
  const queue = createPostgresQueue({ pool });
  const lines: string[] = [];
  for (const { lane, pending, heldReason } of await listLanes(pool, { held: true })) {
    const name = own.get(lane);
    const what = `${lane} was held (${heldReason}), ${pending} pending`;
    if (name === undefined) {
      lines.push(`${what}; it stays so until: DATABASE_URL=… npx ghost lanes resume ${lane}`);
    } else {
      await resumeLane(pool, queue, lane);
      lines.push(`${what}: resumed, as it is the demo's own hook (${name}).`);
    }
  }
  return lines;
}
