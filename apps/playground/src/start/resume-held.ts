import type { Pool } from '@ghost/db';
import { findLane, type LaneRow, listLanes, resumeLane } from '@ghost/operations';
import { createPostgresQueue, hookLane } from '@ghost/queue';

import type { DemoData } from '../demo/demo-data.js';

/** Why delivery holds the lane of a hook that answered 410. */
const GONE = 'gone';

/**
 * Ends what an experiment of an earlier run held (a 410 outlives it): of the demo's own hooks only, as the
 * receiver forgot what it was told. What a person held stays so.
 * @returns a line for each lane that was held: that it goes on, or how to make it
 */
export async function resumeHeld(
  pool: Pool,
  { repositories }: Pick<DemoData, 'repositories'>,
): Promise<string[]> {
  const queue = createPostgresQueue({ pool });
  const lines: string[] = [];
  for (const { id, name } of repositories.flatMap(({ hooks }) => hooks)) {
    const lane = hookLane(id);
    const held = await findLane(pool, lane);
    if (held?.heldReason !== GONE) continue;
    await resumeLane(pool, queue, lane);
    lines.push(`${describe(held)}: resumed, as it is the demo's own hook (${name}).`);
  }
  for (const held of await listLanes(pool, { held: true })) {
    lines.push(
      `${describe(held)}; it stays so until: DATABASE_URL=… npx ghost lanes resume ${held.lane}`,
    );
  }
  return lines;
}

function describe({ lane, heldReason, pending }: LaneRow): string {
  return `${lane} was held (${heldReason}), ${pending} pending`;
}
