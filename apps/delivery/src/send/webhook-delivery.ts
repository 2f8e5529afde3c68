import { rootCertificates } from 'node:tls';

import type { Settings } from '@ghost/settings';

import type { PrepareBatch } from '../deliver.js';
import { KeptConnections } from '../net/kept-connections.js';
import { createResolver } from '../net/resolver.js';
import { createHookDirectory } from './hook-directory.js';
import { prepareWebhooks } from './prepare-webhooks.js';
import { createWebhookSender, type WebhookSenderOptions } from './webhook.js';

export interface WebhookDeliveryOptions extends Pick<WebhookSenderOptions, 'userAgent' | 'now'> {
  settings: Settings<'delivery'>;
}

export interface WebhookDelivery {
  prepare: PrepareBatch;
  /** Closes the connections that were kept: they may be dead. */
  renew: () => void;
  /** Ends look-ups, and the connections that were kept. */
  close: () => void;
}

/** All that webhooks take. A module of its own, which is loaded with the first of them. */
export function createWebhookDelivery(options: WebhookDeliveryOptions): WebhookDelivery {
  const { settings, userAgent, now } = options;
  const resolver = createResolver(settings.dnsServers ?? []);
  const kept = new KeptConnections(undefined, undefined, settings.webhookDeadlineMs / 4);
  const send = createWebhookSender({
    dialer: {
      resolver,
      policy: settings.addressPolicy,
      ...(settings.egressProxy ? { proxy: settings.egressProxy } : {}),
      ...(settings.extraCa.length > 0
        ? { certificateAuthorities: [...rootCertificates, ...settings.extraCa] }
        : {}),
    },
    kept,
    deadlineMs: settings.webhookDeadlineMs,
    userAgent,
    now,
  });
  return {
    prepare: prepareWebhooks(createHookDirectory(settings.keyRing), send),
    renew: () => kept.closeAll(),
    close: () => {
      kept.closeAll();
      resolver.close();
    },
  };
}
