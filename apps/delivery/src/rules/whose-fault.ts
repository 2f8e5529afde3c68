import type { NetworkFaultReason } from './network-fault.js';

/** Whose fault it may be that a webhook did not arrive; `doubtful`: the endpoint's, or our own network's. */
export type Blame = 'endpoint' | 'doubtful' | 'ours';

/** Our address policy, and what threw here. */
const OURS: ReadonlySet<string> = new Set(['forbidden_address', 'internal_error']);

/** What also comes of a way out, a proxy, name servers, a clock or authorities of ours that do not work. */
const DOUBTFUL: ReadonlySet<string> = new Set<NetworkFaultReason>([
  'dns_not_found',
  'dns_timeout',
  'dns_failed',
  'connection_timeout',
  'connection_failed',
  'unreachable',
  'proxy_failed',
  'tls_timeout',
  'tls_expired',
  'tls_unknown_authority',
]);

/** @param reason - of an attempt that is tried again; every other comes of what the endpoint itself did */
export function whoseFault(reason: string): Blame {
  if (OURS.has(reason)) return 'ours';
  return DOUBTFUL.has(reason) ? 'doubtful' : 'endpoint';
}
