import { JOB_VERSION, type JobKind } from '@ghost/contract';
import type { createTransport } from 'nodemailer';

import { deliver, type DeliveryParts } from '../deliver.js';
import type { FaultWatch } from '../failing/watch-faults.js';
import { Pump } from '../pump/pump.js';
import type { WebhookDelivery } from '../send/webhook-delivery.js';
import { VERSION } from '../version.js';
import type { Core } from './core.js';

/** The pump of webhooks; what sends them is loaded with the first. */
export function makeWebhookPump(core: Core, onFault: FaultWatch['heard']): Pump {
  const { settings, closers, renewals, loaded, now } = core;
  let webhooks: Promise<WebhookDelivery> | undefined;
  const load = async () => {
    const { createWebhookDelivery } = await import('../send/webhook-delivery.js');
    return createWebhookDelivery({
      settings,
      userAgent: `Ghost-Delivery/${VERSION}`,
      now,
    });
  };
  renewals.push(async () => (await webhooks)?.renew());
  closers.unshift(async () => (await webhooks)?.close());
  return makePump(core, 'webhook', () => settings.concurrency, {
    prepare: async (jobs, beside) => (await (webhooks ??= loaded(load()))).prepare(jobs, beside),
    onFault,
  });
}

/** The pump of mails; null where no relay is set: they are kept in the queue. */
export async function makeMailPump(
  core: Core,
  loadTransport: () => Promise<typeof createTransport>,
): Promise<Pump | null> {
  const { settings, log, closers } = core;
  const { smtp } = settings;
  if (!smtp) {
    log.warn(
      { event: 'delivery.mails_held' },
      'GHOST_SMTP_URL is not set: mails are kept in the queue. Set it to smtp://user:password@host:port and start again to send them.',
    );
    return null;
  }
  const { createMailDelivery } = await import('../send/mail-delivery.js');
  const onRested = () => pump.wake();
  const mails = createMailDelivery({
    ...{ ...core, smtp, onRested },
    createTransport: await loadTransport(),
  });
  closers.unshift(() => mails.close());
  const pump = makePump(core, 'email', mails.capacity, mails);
  await mails.check();
  return pump;
}

function makePump(
  core: Core,
  kind: JobKind,
  capacity: () => number,
  own: Pick<DeliveryParts, 'prepare' | 'restRelay' | 'suppress' | 'onFault'>,
): Pump {
  const { settings, settler, metrics } = core;
  const { maxAttempts, retryBaseMs: baseMs, retryCapMs: capMs } = settings;
  const parts: DeliveryParts = {
    ...core,
    ...own,
    policy: { webhook: { maxAttempts, baseMs, capMs } },
    onSettled: (pending) => pump.settled(pending),
    onAttempt: metrics.attempted,
    random: Math.random,
  };
  const pump = new Pump({
    ...core,
    kind,
    version: JOB_VERSION,
    capacity,
    mostBytes: settings.inHandBytes,
    claimWithinMs: settings.leaseMs / 2,
    writable: () => settler.writable(),
    deliver: (claim) => deliver(claim, parts),
    onClaim: (tookMs, jobs) => metrics.claimed(kind, tookMs, jobs),
  });
  return pump;
}
