import { describe, expect, test } from 'vitest';

import { DATABASE_URL, errorOf, namesOf, REQUIRED } from '../../../test/support/settings-faults.js';
import { baseUrlOf, readSettings } from './read-settings.js';
import { SETTINGS } from './settings-table.js';

test('an API on any free port needs a public URL, as its links could not name the port', () => {
  expect(namesOf({ PORT: '0' })).toEqual(['GHOST_PUBLIC_URL']);
  const url = 'https://ghost.example';
  expect(readSettings({ ...REQUIRED, PORT: '0', GHOST_PUBLIC_URL: url }, 'api').publicUrl).toBe(
    url,
  );
  expect(readSettings({ ...REQUIRED, PORT: '0' }, 'delivery').port).toBe(0);
});

test('rate limits and trusted proxies: defaults, values, and a fault for each bad entry', () => {
  expect(readSettings(REQUIRED, 'api')).toMatchObject({
    rateLimit: 5000,
    rateLimitAnonymous: 60,
    trustedProxies: [],
  });
  const env = { GHOST_RATE_LIMIT: '0', GHOST_TRUSTED_PROXIES: '10.0.0.0/8, ::1' };
  expect(readSettings({ ...REQUIRED, ...env }, 'api')).toMatchObject({
    rateLimit: 0,
    trustedProxies: ['10.0.0.0/8', '::1'],
  });
  expect(namesOf({ GHOST_RATE_LIMIT: '-1' })).toEqual(['GHOST_RATE_LIMIT']);
  expect(namesOf({ GHOST_TRUSTED_PROXIES: '10.0.0.0/8,proxy' })).toEqual(['GHOST_TRUSTED_PROXIES']);
});

describe('defaults', () => {
  test('are those of the documentation', () => {
    expect(readSettings(REQUIRED, 'delivery')).toMatchObject({
      who: 'delivery',
      databaseUrl: DATABASE_URL,
      listenDatabaseUrl: DATABASE_URL,
      host: '127.0.0.1',
      smtp: null,
      smtpTls: 'required',
      webhookDeadlineMs: 10_000,
      maxAttempts: 16,
      retryBaseMs: 10_000,
      retryCapMs: 86_400_000,
      leaseMs: 30_000,
      concurrency: 500,
      laneConcurrency: 10,
      inHandBytes: 67_108_864,
      shutdownGraceMs: 10_000,
      heartbeatMs: 900_000,
      outboxRetryBaseMs: 1_000,
      mailEventsSecret: null,
      mentionMailsPerHour: 100,
      retentionDays: 30,
      logLevel: 'info',
      deliveryWakeUrl: null,
      dnsServers: null,
      extraCa: [],
      dkim: null,
      addressPolicy: { allowCidrs: [], httpsOnly: false, allowNat64: false },
    });
  });

  test('differ by process where the documentation says so', () => {
    const api = readSettings(REQUIRED, 'api');
    const delivery = readSettings(REQUIRED, 'delivery');
    expect([api.port, delivery.port]).toEqual([3000, 3001]);
    expect([api.poolSize, delivery.poolSize]).toEqual([10, 5]);
    expect([api.publicUrl, delivery.publicUrl]).toEqual(['http://127.0.0.1:3000', null]);
  });

  test('the ports of webhooks are those of the policy', () => {
    const { ports } = readSettings(REQUIRED, 'api').addressPolicy;
    expect(ports).toEqual([
      { from: 80, to: 80 },
      { from: 443, to: 443 },
      { from: 1024, to: 65_535 },
    ]);
  });

  test('every default and every example passes its own parser', () => {
    for (const [name, setting] of Object.entries(SETTINGS)) {
      const whos = ['api', 'delivery', 'cli', 'playground'] as const;
      const defaults = whos.map((who) =>
        setting.default === null || typeof setting.default === 'string'
          ? setting.default
          : setting.default[who],
      );
      for (const value of [...defaults, setting.example]) {
        if (value !== null) expect([name, setting.parse(value).ok]).toEqual([name, true]);
      }
    }
  });

  test('a blank value counts as not set', () => {
    const blank = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, ' ']));
    expect(readSettings({ ...blank, ...REQUIRED }, 'api')).toEqual(readSettings(REQUIRED, 'api'));
  });
});

describe('what is required', () => {
  test.each([
    ['api', ['DATABASE_URL', 'GHOST_SECRET_KEYS']],
    ['delivery', ['DATABASE_URL', 'GHOST_SECRET_KEYS']],
    ['cli', ['DATABASE_URL']],
  ] as const)('%s', (who, names) => {
    expect(errorOf({}, who).faults.map(({ name }) => name)).toEqual(names);
  });

  test('the playground needs nothing', () => {
    expect(readSettings({}, 'playground')).toMatchObject({ databaseUrl: null, keyRing: null });
  });
});

describe('typed values', () => {
  const env = {
    ...REQUIRED,
    GHOST_LISTEN_DATABASE_URL: 'postgresql://direct/ghost',
    HOST: '::1',
    PORT: '0',
    GHOST_PUBLIC_URL: 'https://ghost.example.com/base/',
    GHOST_SMTP_URL: 'smtps://us%40er:p%2Fw@[2600::1]',
    GHOST_MAIL_FROM: '"Ghost, Inc." <noreply@ghost.example.com>',
    GHOST_SMTP_TLS: 'Opportunistic',
    GHOST_ALLOW_CIDRS: '127.0.0.0/8, 10.0.0.0/8:8080',
    GHOST_DENY_CIDRS: '203.0.113.0/24',
    GHOST_ALLOW_HOSTS: '*.internal',
    GHOST_WEBHOOK_PORTS: '443',
    GHOST_ALLOW_NAT64: 'on',
    GHOST_WEBHOOK_HTTPS_ONLY: '1',
    GHOST_EGRESS_PROXY: 'http://proxy:3128',
    GHOST_DNS_SERVERS: '9.9.9.9, [2620:fe::fe]:53,::1,1.1.1.1:5353',
    GHOST_RELAY_RATE: '600/min',
    GHOST_DELIVERY_WAKE_URL: 'http://delivery:3001',
    GHOST_VERP_DOMAIN: 'Bounces.Example.com',
    LOG_LEVEL: 'DEBUG',
  };

  test('are read into their shapes', () => {
    expect(readSettings(env, 'api')).toMatchObject({
      listenDatabaseUrl: 'postgresql://direct/ghost',
      host: '::1',
      port: 0,
      publicUrl: 'https://ghost.example.com/base',
      keyRing: { activeId: 'k1' },
      smtp: { host: '2600::1', port: 465, secure: true, user: 'us@er', pass: 'p/w' },
      mailFrom: { name: 'Ghost, Inc.', address: 'noreply@ghost.example.com' },
      smtpTls: 'opportunistic',
      addressPolicy: {
        allowCidrs: [{ port: null }, { port: 8080 }],
        denyCidrs: [{ text: '203.0.113.0/24' }],
        allowHosts: [{ kind: 'suffix', name: 'internal' }],
        ports: [{ from: 443, to: 443 }],
        allowNat64: true,
        httpsOnly: true,
      },
      egressProxy: { host: 'proxy', port: 3128, secure: false, user: null, pass: null },
      dnsServers: ['9.9.9.9', '[2620:fe::fe]:53', '::1', '1.1.1.1:5353'],
      relayRate: { messages: 600, perMs: 60_000 },
      deliveryWakeUrl: 'http://delivery:3001/wake',
      verpDomain: 'bounces.example.com',
      logLevel: 'debug',
    });
  });

  test('one environment serves every process', () => {
    for (const who of ['api', 'delivery', 'cli', 'playground'] as const) {
      expect(readSettings(env, who).smtp?.port).toBe(465);
    }
  });

  test('names of others are no business of ours', () => {
    expect(() => readSettings({ ...REQUIRED, PATH: '/bin', GHOSTS: 'boo' }, 'api')).not.toThrow();
  });

  test.each([
    ['127.0.0.1', 'http://127.0.0.1:1'],
    ['0.0.0.0', 'http://127.0.0.1:1'],
    ['::', 'http://[::1]:1'],
    ['2600::1', 'http://[2600::1]:1'],
    ['ghost.internal', 'http://ghost.internal:1'],
  ])('the base URL of %s is %s', (host, url) => {
    expect(baseUrlOf(host, 1)).toBe(url);
  });
});
