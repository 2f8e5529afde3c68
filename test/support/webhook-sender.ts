import type { AttemptOutcome } from '@ghost/contract';
import { onTestFinished } from 'vitest';

import {
  type OpenWebhookSender,
  openWebhookSender,
  type SenderSettings,
} from './open-webhook-sender.js';

export {
  BODY,
  ID,
  LOOPBACK_ALLOWED,
  policyOf,
  PUBLIC_ONLY,
  SECRET,
  type SenderSettings,
} from './open-webhook-sender.js';

/** A sender of its own until the test ends; the same one again shares its kept connections. */
export function webhookSender(settings?: SenderSettings): OpenWebhookSender {
  const sender = openWebhookSender(settings);
  onTestFinished(() => sender.close());
  return sender;
}

export function factsOf(outcome: AttemptOutcome) {
  const facts = 'facts' in outcome ? outcome.facts : null;
  if (!facts) throw new Error(`${outcome.verdict} has no facts`);
  return facts;
}
