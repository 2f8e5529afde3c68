import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import {
  judgeDkim,
  judgeExtraCa,
  judgeKeyRing,
  judgePolicy,
  type ReadFile,
  reportContradictions,
} from './judge-values.js';
import { type FoundValues, readValues, reportUnknownNames, type Values } from './read-values.js';
import type { Settings } from './settings.js';
import { type Report, SettingsError, type SettingsFault } from './settings-error.js';
import type { Who } from './settings-table.js';

/** What several settings make together, or a file that one names. */
type Judged = Pick<Settings<'cli'>, 'keyRing' | 'addressPolicy' | 'extraCa' | 'dkim'>;

const readText: ReadFile = (path) => readFileSync(path, 'utf8');

/**
 * Reads the environment of one process. Throws one `SettingsError` with every fault: unknown
 * GHOST_ names, bad values, missing ones, and settings that contradict each other. A blank value
 * counts as not set. No message holds the value of a secret. Files that settings name are read
 * only where they are used: by delivery and the playground.
 */
export function readSettings<W extends Who>(
  env: NodeJS.ProcessEnv,
  who: W,
  readFile: ReadFile = readText,
): Settings<W> {
  const faults: SettingsFault[] = [];
  const report: Report = (name, problem, remedy) => faults.push({ name, problem, remedy });
  reportUnknownNames(env, report);
  const found = readValues(env, who, report);
  const judged = judge(found, who, readFile, report);
  reportContradictions(env, found, who, report);
  if (faults.length > 0) throw new SettingsError(faults);
  // No fault: what has a default has a value, and what this process requires is there.
  return assemble(found as Values, judged, who) as Settings<W>;
}

function judge(found: FoundValues, who: Who, readFile: ReadFile, report: Report): Judged {
  const usesFiles = who === 'delivery' || who === 'playground';
  return {
    keyRing: judgeKeyRing(found, report),
    addressPolicy: judgePolicy(found, report),
    extraCa: usesFiles ? judgeExtraCa(found, readFile, report) : [],
    dkim: usesFiles ? judgeDkim(found, readFile, report) : null,
  };
}

function assemble(
  values: Values,
  judged: Judged,
  who: Who,
): Omit<Settings<'cli'>, 'who' | 'databaseUrl' | 'listenDatabaseUrl'> & {
  who: Who;
  databaseUrl: string | null;
  listenDatabaseUrl: string | null;
} {
  return {
    ...judged,
    who,
    databaseUrl: values.DATABASE_URL,
    listenDatabaseUrl: values.GHOST_LISTEN_DATABASE_URL ?? values.DATABASE_URL,
    poolSize: values.GHOST_POOL_SIZE,
    host: values.HOST,
    port: values.PORT,
    publicUrl: values.GHOST_PUBLIC_URL ?? defaultPublicUrl(values, who),
    smtp: values.GHOST_SMTP_URL,
    smtpTls: values.GHOST_SMTP_TLS,
    mailFrom: values.GHOST_MAIL_FROM,
    egressProxy: values.GHOST_EGRESS_PROXY,
    dnsServers: values.GHOST_DNS_SERVERS,
    webhookDeadlineMs: values.GHOST_WEBHOOK_DEADLINE_MS,
    maxAttempts: values.GHOST_MAX_ATTEMPTS,
    retryBaseMs: values.GHOST_RETRY_BASE_MS,
    retryCapMs: values.GHOST_RETRY_CAP_MS,
    leaseMs: values.GHOST_LEASE_MS,
    concurrency: values.GHOST_CONCURRENCY,
    laneConcurrency: values.GHOST_LANE_CONCURRENCY,
    inHandBytes: values.GHOST_IN_HAND_BYTES,
    hookDisableAfterMs: values.GHOST_HOOK_DISABLE_AFTER_MS,
    heldMost: values.GHOST_HELD_MOST,
    relayRate: values.GHOST_RELAY_RATE,
    verpDomain: values.GHOST_VERP_DOMAIN,
    rateLimit: values.GHOST_RATE_LIMIT,
    rateLimitAnonymous: values.GHOST_RATE_LIMIT_ANONYMOUS,
    trustedProxies: values.GHOST_TRUSTED_PROXIES ?? [],
    outboxRetryBaseMs: values.GHOST_OUTBOX_RETRY_BASE_MS,
    deliveryWakeUrl: values.GHOST_DELIVERY_WAKE_URL,
    mailEventsSecret: values.GHOST_MAIL_EVENTS_SECRET,
    mentionMailsPerHour: values.GHOST_MENTION_MAILS_PER_HOUR,
    retentionDays: values.GHOST_RETENTION_DAYS,
    heartbeatMs: values.GHOST_HEARTBEAT_MS,
    shutdownGraceMs: values.GHOST_SHUTDOWN_GRACE_MS,
    logLevel: values.LOG_LEVEL,
  };
}

/** HOST and PORT are the API's only in the API: elsewhere a guess would put wrong links into mails. */
function defaultPublicUrl({ HOST, PORT }: Values, who: Who): string | null {
  if (who !== 'api' && who !== 'playground') return null;
  return baseUrlOf(HOST, PORT);
}

/**
 * `http://host:port` as a browser on this machine opens it: IPv6 in brackets, and loopback for the
 * wildcard addresses. For an API that listens on port 0 and learns its port later.
 */
export function baseUrlOf(host: string, port: number): string {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return `http://${isIPv6(reachable) ? `[${reachable}]` : reachable}:${port}`;
}
