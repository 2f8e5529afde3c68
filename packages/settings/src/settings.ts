import type { AddressPolicy } from '@ghost/policy';
import type { KeyRing } from '@ghost/vault';
import type { MailAddress, RelayRate } from './parse/mail.js';
import type { ServerUrl } from './parse/urls.js';
import type { Who } from './settings-table.js';

/** DKIM's d=, s= and the PEM of its RSA key. */
export type DkimKey = { domain: string; selector: string; privateKey: string };

/** The environment, read and judged. Durations are milliseconds; null is what was not set. */
export type Settings<W extends Who = 'api'> = {
  who: W;
  databaseUrl: W extends 'playground' ? string | null : string;
  /** For LISTEN; `databaseUrl` when nothing else was set. */
  listenDatabaseUrl: W extends 'playground' ? string | null : string;
  poolSize: number;
  host: string;
  /** 0: any free one. */
  port: number;
  /** Without a slash at the end. Only the API knows a default: `http://HOST:PORT`. */
  publicUrl: W extends 'api' | 'playground' ? string : string | null;
  keyRing: W extends 'api' | 'delivery' ? KeyRing : KeyRing | null;
  smtp: ServerUrl | null;
  smtpTls: 'required' | 'opportunistic' | 'off';
  mailFrom: MailAddress | null;
  addressPolicy: AddressPolicy;
  egressProxy: ServerUrl | null;
  /** PEM certificates of GHOST_EXTRA_CA_FILE; read by delivery and playground alone, else empty. */
  extraCa: readonly string[];
  /** As `dns.Resolver.setServers` takes them; null: those of the system. */
  dnsServers: readonly string[] | null;
  webhookDeadlineMs: number;
  maxAttempts: number;
  retryBaseMs: number;
  retryCapMs: number;
  leaseMs: number;
  concurrency: number;
  laneConcurrency: number;
  /** That contents of jobs in hand take in memory, of webhooks and of mails each. */
  inHandBytes: number;
  /** 0: never. */
  hookDisableAfterMs: number;
  /** Deliveries that a held hook keeps. */
  heldMost: number;
  relayRate: RelayRate | null;
  verpDomain: string | null;
  /** Read by delivery and playground alone, else null. */
  dkim: DkimKey | null;
  /** Requests an hour; 0: no limit. */
  rateLimit: number;
  /** Requests an hour; 0: no limit. */
  rateLimitAnonymous: number;
  /** Addresses and CIDRs; empty: none is believed. */
  trustedProxies: readonly string[];
  outboxRetryBaseMs: number;
  deliveryWakeUrl: string | null;
  mailEventsSecret: string | null;
  /** 0: no limit. */
  mentionMailsPerHour: number;
  retentionDays: number;
  heartbeatMs: number;
  shutdownGraceMs: number;
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
};
