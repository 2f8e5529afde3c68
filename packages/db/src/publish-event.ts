import type { NewEvent } from '@ghost/contract';

import { connectionOf } from './in-transaction.js';
import type { Transaction } from './pool.js';
import { type HookChain, writeEvent } from './write-event.js';

/**
 * Publishes an event in the caller's transaction (see {@link writeEvent}).
 * @param cause - what led to the request that caused it, where that is known
 * @returns the event's id (uuid v7)
 * @throws EventPayloadError when the payload does not fit its type
 */
export async function publishEvent(
  tx: Transaction,
  event: NewEvent,
  cause: HookChain | null = null,
): Promise<string> {
  return writeEvent(connectionOf(tx), event, cause);
}
