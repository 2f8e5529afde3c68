import { cidrList } from './parse/cidr-list.js';
import { mailAddress, relayRate, webhookSecret } from './parse/mail.js';
import type { Parse } from './parse/parsed.js';
import {
  dnsServers,
  domainName,
  flag,
  listenHost,
  oneOf,
  text,
  wholeNumber,
} from './parse/scalars.js';
import { baseUrl, postgresUrl, proxyUrl, smtpUrl, wakeUrl } from './parse/urls.js';

/** The processes that read the environment. Each accepts every name, so that one file serves all. */
export type Who = 'api' | 'delivery' | 'cli' | 'playground';

export type Setting<T, D extends Default = Default> = {
  /** Who acts on it. */
  who: string;
  /** As it would be typed; null: none, and `what` says what happens without it. */
  default: D;
  what: string;
  /** A good value, for faults; null when the default serves as one. */
  example: string | null;
  /** Never shown. */
  secret: boolean;
  /** These do not start without it. */
  requiredBy: readonly Who[];
  parse: Parse<T>;
};

type Default = string | Readonly<Record<Who, string>> | null;

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** A delivery is tried for 7 days, and then somebody wants to see its attempts: with fewer they went before it. */
export const LEAST_RETENTION_DAYS = 8;

const EVERYONE_WITH_A_DATABASE: readonly Who[] = ['api', 'delivery', 'cli'];
const DATABASE_EXAMPLE = 'postgres://ghost:password@127.0.0.1:5432/ghost';

function setting<T, D extends Default>(
  parse: Parse<T>,
  rest: Pick<Setting<T, D>, 'who' | 'default' | 'what'> & Partial<Setting<T, D>>,
): Setting<T, D> {
  return { example: null, secret: false, requiredBy: [], parse, ...rest };
}

/** Every setting there is, in the order of the documentation. A name that is not here stops the start. */
export const SETTINGS = {
  DATABASE_URL: setting(postgresUrl, {
    who: 'all',
    default: null,
    what: 'Postgres 15 or newer. The playground starts one of its own without it.',
    example: DATABASE_EXAMPLE,
    secret: true,
    requiredBy: EVERYONE_WITH_A_DATABASE,
  }),
  GHOST_LISTEN_DATABASE_URL: setting(postgresUrl, {
    who: 'API, delivery',
    default: null,
    what: 'Direct connection for LISTEN when DATABASE_URL leads to a pooler. Without it: DATABASE_URL.',
    example: DATABASE_EXAMPLE,
    secret: true,
  }),
  GHOST_POOL_SIZE: setting(wholeNumber(2, 200), {
    who: 'all',
    default: { api: '10', delivery: '5', cli: '2', playground: '10' },
    what: 'Connections to Postgres in the pool; none is held while something is sent. At least 2.',
  }),
  HOST: setting(listenHost, {
    who: 'API, delivery',
    default: '127.0.0.1',
    what: "Address to listen on. Delivery's port is private: health, metrics, wake.",
  }),
  PORT: setting(wholeNumber(0, 65_535), {
    who: 'API, delivery',
    default: { api: '3000', delivery: '3001', cli: '3000', playground: '3000' },
    what: 'Port to listen on; 0 takes any free one, and the API then needs GHOST_PUBLIC_URL.',
  }),
  GHOST_PUBLIC_URL: setting(baseUrl, {
    who: 'API',
    default: null,
    what: 'Base of links in mails and payloads. Without it: http://HOST:PORT.',
    example: 'https://ghost.example.com',
  }),
  GHOST_SECRET_KEYS: setting(text, {
    who: 'all',
    default: null,
    what: 'Key ring for secrets at rest: id:base64(32 bytes)[,older…]; the first one is active.',
    example: 'k1:<output of: openssl rand -base64 32>',
    secret: true,
    requiredBy: ['api', 'delivery'],
  }),
  GHOST_SMTP_URL: setting(smtpUrl, {
    who: 'delivery',
    default: null,
    what: 'The relay: smtp(s)://user:pass@host:port; ports 587 and 465 when left out. Without it mail lanes are held.',
    example: 'smtp://user:password@relay.example.com:587',
    secret: true,
  }),
  GHOST_MAIL_FROM: setting(mailAddress, {
    who: 'API',
    default: null,
    what: 'Sender of all mail: user@domain or Name <user@domain>.',
    example: 'Ghost <noreply@ghost.example.com>',
  }),
  GHOST_SMTP_TLS: setting(oneOf('required', 'opportunistic', 'off'), {
    who: 'delivery',
    default: 'required',
    what: 'TLS with the relay: required, opportunistic (STARTTLS where offered), off (in clear, password too).',
  }),
  GHOST_ALLOW_CIDRS: setting(text, {
    who: 'API, delivery',
    default: '',
    what: 'Ranges that webhooks may reach although the address policy refuses them: cidr or cidr:port, [v6 cidr]:port. Lifts exactly these, loopback and metadata too, and the port rule for literals in them.',
    example: '10.1.0.0/16,192.168.7.5:8080',
  }),
  GHOST_DENY_CIDRS: setting(text, {
    who: 'API, delivery',
    default: '',
    what: 'Ranges that webhooks never reach, such as your own public ones. Wins over every exception.',
    example: '203.0.113.0/24,2001:db8::/32',
  }),
  GHOST_ALLOW_HOSTS: setting(text, {
    who: 'API, delivery',
    default: '',
    what: 'Names, or *.suffix, that may be internal and may resolve to private addresses; never loopback or metadata.',
    example: 'ci.internal,*.corp.example.com',
  }),
  GHOST_ALLOW_NAT64: setting(flag, {
    who: 'API, delivery',
    default: 'false',
    what: 'Judge 64:ff9b::/96 by the IPv4 address in it instead of refusing it; for networks with DNS64.',
  }),
  GHOST_WEBHOOK_HTTPS_ONLY: setting(flag, {
    who: 'API, delivery',
    default: 'false',
    what: 'Refuse hooks with plain http.',
  }),
  GHOST_WEBHOOK_PORTS: setting(text, {
    who: 'API, delivery',
    default: '80,443,1024-65535',
    what: 'Ports of webhooks. Ranges leave out well-known internal services (5432, 6379, …); a port named alone is meant.',
  }),
  GHOST_EGRESS_PROXY: setting(proxyUrl, {
    who: 'delivery',
    default: null,
    what: 'Forward proxy for webhooks: http(s)://user:pass@host:port. It then resolves names and must refuse inner addresses itself.',
    example: 'http://proxy.internal:3128',
    secret: true,
  }),
  GHOST_EXTRA_CA_FILE: setting(text, {
    who: 'delivery',
    default: null,
    what: 'PEM file of certificate authorities that are trusted beside the public ones.',
    example: '/etc/ghost/ca.pem',
  }),
  GHOST_DNS_SERVERS: setting(dnsServers, {
    who: 'delivery',
    default: null,
    what: 'Resolvers for webhooks: address[:port], several parted by commas. Without it: those of the system.',
    example: '9.9.9.9,[2620:fe::fe]:53',
  }),
  GHOST_WEBHOOK_DEADLINE_MS: setting(wholeNumber(100, 300_000), {
    who: 'delivery',
    default: '10000',
    what: 'One attempt of a webhook, look-up to last byte.',
  }),
  GHOST_MAX_ATTEMPTS: setting(wholeNumber(1, 100), {
    who: 'API, delivery',
    default: '16',
    what: 'Attempts of a webhook before it is dead; the API tells of them.',
  }),
  GHOST_RETRY_BASE_MS: setting(wholeNumber(1, DAY_MS), {
    who: 'delivery',
    default: '10000',
    what: 'Back-off of webhooks: the n-th retry waits random(0, min(cap, base·2^(n-1))).',
  }),
  GHOST_RETRY_CAP_MS: setting(wholeNumber(1, 7 * DAY_MS), {
    who: 'delivery',
    default: String(DAY_MS),
    what: 'Longest wait between two attempts of a webhook.',
  }),
  GHOST_LEASE_MS: setting(wholeNumber(1_000, HOUR_MS), {
    who: 'delivery',
    default: '30000',
    what: 'How long a claimed job is out of reach of other workers; extended while the work is alive.',
  }),
  GHOST_CONCURRENCY: setting(wholeNumber(1, 10_000), {
    who: 'delivery',
    // With 200 a full queue left at 0.9 × of that rate, with 800 at no more (measured): batches are as large as what is free.
    default: '500',
    what: 'Webhooks in flight in one process; of them at most a third to hooks without a recent success, a quarter to one owner’s, 50 to one host.',
  }),
  GHOST_LANE_CONCURRENCY: setting(wholeNumber(1, 1_000), {
    who: 'delivery',
    default: '10',
    what: 'Jobs in flight to one destination, all processes together.',
  }),
  GHOST_IN_HAND_BYTES: setting(wholeNumber(65_536, 64 * 1024 ** 3), {
    who: 'delivery',
    // 500 webhooks with a comment of 65,536 letters; the usual ones take 1 MiB together.
    default: String(64 * 1024 ** 2),
    what: 'Memory for the contents of webhooks in flight in one process, and as much for those of mails: while they take more, nothing more is claimed. At most one claim goes beyond it; a single job always goes, however large.',
  }),
  GHOST_HOOK_DISABLE_AFTER_MS: setting(wholeNumber(0, 30 * DAY_MS), {
    who: 'delivery',
    default: String(3 * DAY_MS),
    what: 'A hook to which nothing was delivered for so long, and that still fails, is disabled: what is sent to it is kept. Its owner gets a mail after half of that, and then. 0: never.',
  }),
  GHOST_HELD_MOST: setting(wholeNumber(1, 100_000), {
    who: 'API',
    default: '10000',
    what: 'Deliveries that are kept for a hook that is held; further events are skipped for it until it is resumed.',
  }),
  GHOST_RELAY_RATE: setting(relayRate, {
    who: 'delivery',
    default: null,
    what: 'Most mails to the relay, all processes together: 50/s, 600/min or 1000/h. Without it: no limit.',
    example: '50/s',
  }),
  GHOST_VERP_DOMAIN: setting(domainName, {
    who: 'delivery',
    default: null,
    what: 'Domain of the return paths, one a mail, that bounces come back to; its mail server hands them to /api/mail/events or "ghost mail report". Without it bounces go to the sender.',
    example: 'bounces.ghost.example.com',
  }),
  GHOST_DKIM_DOMAIN: setting(domainName, {
    who: 'delivery',
    default: null,
    what: 'Domain that signs mails (DKIM d=); goes with the two below.',
    example: 'ghost.example.com',
  }),
  GHOST_DKIM_SELECTOR: setting(domainName, {
    who: 'delivery',
    default: null,
    what: 'Selector of the key in DNS (DKIM s=).',
    example: '2026a',
  }),
  GHOST_DKIM_KEY_FILE: setting(text, {
    who: 'delivery',
    default: null,
    what: 'PEM file of the RSA private key for DKIM.',
    example: '/etc/ghost/dkim.pem',
  }),
  GHOST_RATE_LIMIT: setting(wholeNumber(0, 1_000_000_000), {
    who: 'API',
    default: '5000',
    what: 'Requests an hour by one account, with all its tokens together; 0: no limit. Counted in each process by itself.',
  }),
  GHOST_RATE_LIMIT_ANONYMOUS: setting(wholeNumber(0, 1_000_000_000), {
    who: 'API',
    default: '60',
    what: 'Requests an hour without a token from one client address (IPv6: one /64), and as many with a token that is not valid; 0: no limit. Counted in each process by itself.',
  }),
  GHOST_TRUSTED_PROXIES: setting(cidrList, {
    who: 'API',
    default: null,
    what: 'Addresses or ranges of the proxies whose X-Forwarded-For names the client. Without it the client is whoever connects.',
    example: '10.0.0.0/8,2001:db8::/32',
  }),
  GHOST_OUTBOX_RETRY_BASE_MS: setting(wholeNumber(1, HOUR_MS), {
    who: 'API',
    default: '1000',
    what: 'Back-off of a consumer that failed an event; five times as long after each failure, with jitter, up to 15 min.',
  }),
  GHOST_MAIL_EVENTS_SECRET: setting(webhookSecret, {
    who: 'API',
    default: null,
    what: 'Signs what is posted to /api/mail/events (bounces and complaints), as Standard Webhooks have it: whsec_ and the output of openssl rand -base64 32. Without it nothing is taken there.',
    secret: true,
  }),
  GHOST_MENTION_MAILS_PER_HOUR: setting(wholeNumber(0, 1_000_000), {
    who: 'API',
    default: '100',
    what: 'Mails that one author causes in an hour at most by mentioning people who follow neither the thread nor the repository; 0: no limit.',
  }),
  GHOST_DELIVERY_WAKE_URL: setting(wakeUrl, {
    who: 'API',
    default: null,
    what: 'Posted after jobs were enqueued (coalesced, best effort): wakes a delivery container that sleeps.',
    example: 'http://127.0.0.1:3001/wake',
    secret: true,
  }),
  GHOST_RETENTION_DAYS: setting(wholeNumber(LEAST_RETENTION_DAYS, 3_650), {
    who: 'API',
    default: '30',
    what: 'Days that attempts, finished deliveries and processed events are kept, 8 at least: a delivery is tried for 7, and its attempts must last as long. What is older is deleted once a day, in small steps.',
  }),
  GHOST_HEARTBEAT_MS: setting(wholeNumber(100, DAY_MS), {
    who: 'API, delivery',
    default: '900000',
    what: 'How often the LISTEN connection is proved alive. 20000 on hosts that never sleep.',
  }),
  GHOST_SHUTDOWN_GRACE_MS: setting(wholeNumber(0, 600_000), {
    who: 'API, delivery',
    default: '10000',
    what: 'Time to finish after SIGTERM; then what is in flight is aborted and released.',
  }),
  LOG_LEVEL: setting(oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'), {
    who: 'all',
    default: 'info',
    what: 'JSON lines on stdout: fatal, error, warn, info, debug, trace or silent.',
  }),
};

export type SettingName = keyof typeof SETTINGS;

/** What a setting is once it is read: without a default it may be null. */
export type ValueOf<N extends SettingName> =
  (typeof SETTINGS)[N] extends Setting<infer T, infer D> ? (D extends null ? T | null : T) : never;

/** The default of a setting as it would be typed, or null. */
export function defaultOf(name: SettingName, who: Who): string | null {
  const value: Default = SETTINGS[name].default;
  return value === null || typeof value === 'string' ? value : value[who];
}
