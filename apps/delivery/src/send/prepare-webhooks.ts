import type { ClaimedJob } from '@ghost/queue';

import type { Abort } from '../abort.js';
import type { FoundHook, HookDirectory } from './hook-directory.js';
import type { Sent } from './sent.js';
import type { SendWebhook } from './webhook.js';

/** Sends each webhook of a batch to what its hook was once it was claimed. */
export function prepareWebhooks(hooksOf: HookDirectory, send: SendWebhook) {
  return async (_: readonly ClaimedJob[], beside: unknown) => {
    const hooks = hooksOf(beside);
    return async (claimed: ClaimedJob, stop: Abort): Promise<Sent> => {
      const { job } = claimed;
      if (job.kind !== 'webhook') throw new Error(`Job ${claimed.id} is no webhook`);
      const found: FoundHook = hooks.get(job.hookId) ?? { state: 'deleted' };
      switch (found.state) {
        case 'deleted':
          return { outcome: { verdict: 'cancelled', reason: 'hook_deleted' } };
        case 'inactive':
          return { outcome: { verdict: 'cancelled', reason: 'hook_inactive' } };
        case 'unreadable':
          return {
            outcome: { verdict: 'hold', reason: 'secret_unreadable', facts: null },
            note: { secret: found.code },
          };
        case 'ready': {
          const { id, eventId, tries, redelivery } = claimed;
          return send({ id, eventId, tries, redelivery, job }, found.hook, stop);
        }
      }
    };
  };
}
