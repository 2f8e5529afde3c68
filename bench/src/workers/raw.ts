// Our own client without any database: it signs and sends from a list in memory.

import { readSettings } from '@ghost/settings';

import { Abort } from '../../../apps/delivery/src/abort.js';
import { KeptConnections } from '../../../apps/delivery/src/net/kept-connections.js';
import { createResolver } from '../../../apps/delivery/src/net/resolver.js';
import { createWebhookSender } from '../../../apps/delivery/src/send/webhook.js';
import { EVENT, makeJobs, SECRET } from '../load.js';
import { given, sayReady, stopBy } from './ready.js';

/** More at once brings nothing (measured). */
const AT_ONCE = 50;

const settings = readSettings(process.env, 'delivery');
const jobs = makeJobs(Number(given('JOBS')), Number(given('HOOKS')), Number(given('PORT')));
const kept = new KeptConnections();
const resolver = createResolver([]);
const never = new Abort();
const send = createWebhookSender({
  dialer: { resolver, policy: settings.addressPolicy },
  kept,
  deadlineMs: settings.webhookDeadlineMs,
  userAgent: 'Ghost-Delivery/0.1.0',
  now: () => Date.now(),
});

let next = 0;
async function sendInTurn(): Promise<void> {
  for (let job = jobs[next++]; job !== undefined; job = jobs[next++]) {
    const { id, hook: hookId, url, body } = job;
    const delivery = {
      id,
      eventId: id,
      tries: 0,
      redelivery: false,
      job: { version: 1 as const, kind: 'webhook' as const, hookId, event: EVENT, body },
    };
    const hook = {
      id: hookId,
      url,
      active: true,
      githubSignature: false,
      insecure: false,
      headers: [],
      secrets: [SECRET],
    };
    const { outcome } = await send(delivery, hook, never);
    if (outcome.verdict !== 'delivered') throw new Error(JSON.stringify(outcome));
  }
}

stopBy(async () => {
  kept.closeAll();
  resolver.close();
});
sayReady();
await Promise.all(Array.from({ length: AT_ONCE }, sendInTurn));
// Its end is the bench's to say: the figures are read first.
setInterval(() => undefined, 1_000);
