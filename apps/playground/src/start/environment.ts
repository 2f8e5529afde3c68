import { isIP } from 'node:net';

import { readSettings, type Settings } from '@ghost/settings';

import { LOOPBACK } from '../embedded/ports.js';

// So that a retry shows within seconds; a mail relay's rest is not in play here.
const RETRY_BASE_MS = '400';
/** Requests an hour. */
const GENEROUS_LIMIT = '1000000';
const LOOPBACK_RANGE = '127.0.0.0/8';
/** Stands in for what is known only later when all settings are checked before anything starts. */
const UNKNOWN_RELAY = 'smtp://127.0.0.1:2525';

type Environment = Readonly<Record<string, string | undefined>>;

/** What the playground decides for its children. */
export interface Wiring {
  databaseUrl: string;
  secretKeys: string;
  smtpUrl: string;
  apiPort: number;
  deliveryPort: number;
}

export interface ChildEnvironments {
  api: Record<string, string>;
  delivery: Record<string, string>;
}

/** Mails can be caught unless the person sends them to a relay of their own. */
export function catchesMails(env: Environment): boolean {
  return blankToUndefined(env['GHOST_SMTP_URL']) === undefined;
}

/**
 * The whole environment of both children: our wiring, and every GHOST_ name that the person set,
 * which wins. Nothing else is inherited, so the playground runs the same on every machine.
 */
export function childEnvironments(env: Environment, wiring: Wiring): ChildEnvironments {
  const own = ownSettings(env);
  const host = listenHost(env);
  const apiUrl = `http://${reachableHost(host)}:${wiring.apiPort}`;
  const deliveryUrl = `http://${LOOPBACK}:${wiring.deliveryPort}`;
  const shared = {
    DATABASE_URL: wiring.databaseUrl,
    GHOST_SECRET_KEYS: wiring.secretKeys,
    GHOST_PUBLIC_URL: apiUrl,
    GHOST_MAIL_FROM: 'Ghost <ghost@example.test>',
    GHOST_RETRY_BASE_MS: RETRY_BASE_MS,
    // One person at one machine may post as fast as they like, and sees the headers that tell of it.
    GHOST_RATE_LIMIT: GENEROUS_LIMIT,
    GHOST_RATE_LIMIT_ANONYMOUS: GENEROUS_LIMIT,
    GHOST_DELIVERY_WAKE_URL: `${deliveryUrl}/wake`,
    ...(catchesMails(env) ? { GHOST_SMTP_URL: wiring.smtpUrl, GHOST_SMTP_TLS: 'off' } : {}),
    ...own,
    // The demo's hooks are on this machine; added to what the person allows.
    GHOST_ALLOW_CIDRS: [own['GHOST_ALLOW_CIDRS'], LOOPBACK_RANGE].filter(Boolean).join(','),
  };
  return {
    api: { ...shared, HOST: host, PORT: String(wiring.apiPort) },
    delivery: { ...shared, HOST: LOOPBACK, PORT: String(wiring.deliveryPort) },
  };
}

/**
 * Reads all settings as the children will, before anything is started.
 * @throws SettingsError with every fault
 */
export function checkSettings(env: Environment): Settings<'playground'> {
  const { api } = childEnvironments(env, {
    databaseUrl: '',
    secretKeys: '',
    smtpUrl: UNKNOWN_RELAY,
    apiPort: 0,
    deliveryPort: 0,
  });
  const typed = given(env, ['DATABASE_URL', 'PORT', 'GHOST_SECRET_KEYS']);
  return readSettings({ ...api, ...typed }, 'playground');
}

/** Names a host that a client on this machine can dial. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return LOOPBACK;
  return isIP(host) === 6 ? `[${host}]` : host;
}

/** Some shells set HOST to the name of the machine or its make: only an address or localhost is meant for us. */
export function listenHost(env: Environment): string {
  const host = env['HOST']?.trim() ?? '';
  return isIP(host) > 0 || host === 'localhost' ? host : LOOPBACK;
}

function ownSettings(env: Environment): Record<string, string> {
  const embedded = blankToUndefined(env['DATABASE_URL']) === undefined;
  const names = Object.keys(env).filter((name) => name.startsWith('GHOST_'));
  // A way around the pooler of a database that is not used here.
  const usable = names.filter((name) => !embedded || name !== 'GHOST_LISTEN_DATABASE_URL');
  return given(env, [...usable, 'LOG_LEVEL']);
}

function given(env: Environment, names: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of names) {
    const value = blankToUndefined(env[name]);
    if (value !== undefined) found[name] = value;
  }
  return found;
}

function blankToUndefined(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value.trim();
}
