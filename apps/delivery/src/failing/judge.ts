import type { Pool } from '@ghost/db';
import { type EndpointFault, type FailingStep, judgeFailingHook } from '@ghost/operations';
import type { Queue } from '@ghost/queue';

/** A part of its own: the shapes of events are loaded when a hook has failed for long, and not before. */
export function judge(
  pool: Pool,
  queue: Queue,
  fault: EndpointFault,
  periodMs: number,
): Promise<FailingStep> {
  return judgeFailingHook(pool, queue, fault, periodMs);
}
