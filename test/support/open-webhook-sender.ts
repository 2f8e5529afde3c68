import { JOB_VERSION } from '@ghost/contract';
import { type AddressPolicy, parseAddressPolicy } from '@ghost/policy';

import { Abort } from '../../apps/delivery/src/abort.js';
import { KeptConnections } from '../../apps/delivery/src/net/kept-connections.js';
import { createResolver } from '../../apps/delivery/src/net/resolver.js';
import type { Hook } from '../../apps/delivery/src/send/hook-directory.js';
import type { Sent } from '../../apps/delivery/src/send/sent.js';
import { createWebhookSender } from '../../apps/delivery/src/send/webhook.js';
import type { WebhookDelivery } from '../../apps/delivery/src/send/webhook-request.js';
import type { DnsServer } from './dns-server.js';

export const ID = '01934f6e-8a1c-7c3a-9b1f-5f3c2d1e0a9b';
const EVENT_ID = '01934f6e-0000-7000-8000-00000000abcd';
export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
export const BODY = '{"text":"grüße 🎉 \u2028"}';

export function policyOf(raw: Parameters<typeof parseAddressPolicy>[0]): AddressPolicy {
  const parsed = parseAddressPolicy(raw);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  return parsed.policy;
}
export const LOOPBACK_ALLOWED = policyOf({ allowCidrs: '127.0.0.0/8' });
export const PUBLIC_ONLY = policyOf({});

export interface SenderSettings {
  policy?: AddressPolicy;
  dns?: DnsServer;
  deadlineMs?: number;
  now?: () => number;
  trust?: string;
  proxyPort?: number;
}

export interface OpenWebhookSender {
  kept: KeptConnections;
  send: (
    url: string,
    more?: Partial<WebhookDelivery> & { hook?: Partial<Hook>; stop?: AbortSignal },
  ) => Promise<Sent>;
  /** Ends what it keeps open. */
  close: () => void;
}

/** A sender with connections of its own, as delivery makes one: for tests and proofs. */
export function openWebhookSender({
  policy,
  dns,
  deadlineMs,
  now,
  trust,
  proxyPort,
}: SenderSettings = {}): OpenWebhookSender {
  const resolver = createResolver(dns ? [dns.address] : []);
  const kept = new KeptConnections();
  const send = createWebhookSender({
    dialer: {
      resolver,
      policy: policy ?? LOOPBACK_ALLOWED,
      ...(trust === undefined ? {} : { certificateAuthorities: [trust] }),
      ...(proxyPort === undefined
        ? {}
        : { proxy: { host: '127.0.0.1', port: proxyPort, secure: false, user: 'u', pass: 'p' } }),
    },
    kept,
    deadlineMs: deadlineMs ?? 5_000,
    userAgent: 'Ghost-Delivery/test',
    now: now ?? (() => Date.now()),
  });
  return {
    kept,
    send: (url, more = {}) => {
      const { hook, stop, ...delivery } = more;
      return send(
        {
          id: ID,
          eventId: EVENT_ID,
          tries: 0,
          redelivery: false,
          job: {
            version: JOB_VERSION,
            kind: 'webhook',
            hookId: 7,
            event: 'comment.created',
            body: BODY,
          },
          ...delivery,
        },
        {
          id: 7,
          url,
          active: true,
          githubSignature: false,
          insecure: false,
          headers: [],
          secrets: [SECRET],
          ...hook,
        },
        abortOf(stop),
      );
    },
    close: () => {
      kept.closeAll();
      resolver.close();
    },
  };
}

function abortOf(signal: AbortSignal | undefined): Abort {
  const abort = new Abort();
  if (signal?.aborted) abort.abort(String(signal.reason));
  signal?.addEventListener('abort', () => abort.abort(String(signal.reason)));
  return abort;
}
