import { expect, test } from 'vitest';

import { KEY, namesOf, REQUIRED } from '../../../test/support/settings-faults.js';
import { readSettings } from './read-settings.js';
import type { SettingName } from './settings-table.js';

const bad: [SettingName, ...string[]][] = [
  [
    'DATABASE_URL',
    'mysql://x',
    'nonsense',
    'postgres://host/a\nb',
    'postgres://u:p#w@host/db',
    'postgres://u:%zz@h/db',
  ],
  ['GHOST_LISTEN_DATABASE_URL', 'http://x'],
  ['GHOST_POOL_SIZE', '0', '1', '201', 'ten'],
  ['HOST', 'a b', '[::1]', '256.1.1.1/8', 'x_y'],
  ['PORT', '-1', '65536', '3000x', '3e3', '0x50'],
  [
    'GHOST_PUBLIC_URL',
    'ghost.example.com',
    'ftp://x',
    'http://u:p@x',
    'http://x/?a',
    'http://x/#a',
  ],
  ['GHOST_SECRET_KEYS', 'k1', `k1:${KEY},k1:${KEY}`],
  [
    'GHOST_SMTP_URL',
    'relay:25',
    'http://x',
    'smtp://',
    'smtp://u@x',
    'smtp://x/path',
    'smtp://x:0',
  ],
  ['GHOST_SMTP_URL', 'smtp://x?tls=1', 'smtp://u:%@x', 'smtp://x:99999', 'smtp://a b'],
  [
    'GHOST_MAIL_FROM',
    'ghost',
    'a@b, c@d',
    'a@',
    '@b',
    'X <a@b',
    'a b@c',
    'a..b@c',
    'a@b\nBcc: x@y',
  ],
  ['GHOST_SMTP_TLS', 'yes', 'none'],
  ['GHOST_ALLOW_CIDRS', '10.0.0.0/33', '*', '10.0.0.0/8,', '0.0.0.0/0'],
  ['GHOST_DENY_CIDRS', 'x'],
  ['GHOST_ALLOW_HOSTS', '*', 'localhost'],
  ['GHOST_WEBHOOK_PORTS', 'https', '0'],
  ['GHOST_ALLOW_NAT64', 'maybe'],
  ['GHOST_WEBHOOK_HTTPS_ONLY', '2'],
  ['GHOST_EGRESS_PROXY', 'socks5://x', 'http://x/path'],
  ['GHOST_DNS_SERVERS', 'dns.example', '9.9.9.9,', '9.9.9.9:0', '[9.9.9.9', '9.9.9.9:99999'],
  ['GHOST_WEBHOOK_DEADLINE_MS', '99', '10s', '1.5'],
  ['GHOST_MAX_ATTEMPTS', '0', '101'],
  ['GHOST_RETRY_BASE_MS', '0'],
  ['GHOST_RETRY_CAP_MS', '0', '9999'],
  ['GHOST_LEASE_MS', '999', '3600001'],
  ['GHOST_CONCURRENCY', '0'],
  ['GHOST_LANE_CONCURRENCY', '0'],
  ['GHOST_IN_HAND_BYTES', '65535', '64 MB'],
  ['GHOST_RELAY_RATE', '0/s', '5/day', '-1'],
  ['GHOST_VERP_DOMAIN', 'a@b', '-x.example'],
  ['GHOST_OUTBOX_RETRY_BASE_MS', '0'],
  ['GHOST_DELIVERY_WAKE_URL', 'delivery:3001', 'http://u:p@x/'],
  ['GHOST_RETENTION_DAYS', '0', '7', '3651'],
  ['GHOST_HEARTBEAT_MS', '0', '86400001'],
  ['GHOST_SHUTDOWN_GRACE_MS', '600001', '-1'],
  ['LOG_LEVEL', 'verbose'],
];
const cases = bad.flatMap(([name, ...values]) => values.map((value) => [name, value] as const));

test.each(cases)('%s=%j stops every process', (name, value) => {
  for (const who of ['api', 'delivery', 'cli', 'playground'] as const) {
    expect(namesOf({ [name]: value }, who)).toEqual([name]);
  }
});

test('settings that contradict each other', () => {
  expect(namesOf({ GHOST_RETRY_BASE_MS: '5000', GHOST_RETRY_CAP_MS: '4000' })).toEqual([
    'GHOST_RETRY_CAP_MS',
  ]);
  const smtps = { GHOST_SMTP_URL: 'smtps://relay', GHOST_MAIL_FROM: 'a@b' };
  expect(namesOf({ ...smtps, GHOST_SMTP_TLS: 'off' })).toEqual(['GHOST_SMTP_TLS']);
  expect(namesOf({ GHOST_SMTP_URL: 'smtp://relay' })).toEqual(['GHOST_MAIL_FROM']);
  expect(() =>
    readSettings({ ...REQUIRED, GHOST_SMTP_URL: 'smtp://relay' }, 'delivery'),
  ).not.toThrow();
  expect(namesOf({ GHOST_DKIM_DOMAIN: 'example.com' })).toEqual([
    'GHOST_DKIM_SELECTOR',
    'GHOST_DKIM_KEY_FILE',
  ]);
});
