import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { EXIT } from './exit.js';
import { baseUrlOf, readSettings } from './read-settings.js';
import { SettingsError } from './settings-error.js';
import { SETTINGS, type SettingName, type Who } from './settings-table.js';

const KEY = Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64');
const DATABASE_URL = 'postgres://ghost:s3cr3tpass@127.0.0.1:5432/ghost';
const REQUIRED = { DATABASE_URL, GHOST_SECRET_KEYS: `k1:${KEY}` };

function errorOf(env: NodeJS.ProcessEnv, who: Who = 'api', readFile = noFile): SettingsError {
  try {
    readSettings(env, who, readFile);
  } catch (error) {
    if (error instanceof SettingsError) return error;
    throw error;
  }
  throw new Error('the settings were accepted');
}

/** Names at fault, without the values beside them. */
function namesOf(env: NodeJS.ProcessEnv, who: Who = 'api'): string[] {
  return errorOf({ ...REQUIRED, ...env }, who).faults.map(({ name }) => name.split('=')[0] ?? '');
}

function noFile(path: string): string {
  throw Object.assign(new Error(`no such file ${path}`), { code: 'ENOENT' });
}

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

describe('bad values', () => {
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
});

describe('files', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
  const ed25519 = generateKeyPairSync('ed25519').privateKey;
  const pss = generateKeyPairSync('rsa-pss', { modulusLength: 1024 }).privateKey;
  const pem = (key: typeof rsa) => key.export({ type: 'pkcs8', format: 'pem' }).toString();
  const dkim = {
    GHOST_DKIM_DOMAIN: 'example.com',
    GHOST_DKIM_SELECTOR: '2026a',
    GHOST_DKIM_KEY_FILE: '/dkim.pem',
  };

  test('are read by delivery, as what they hold', () => {
    const settings = readSettings({ ...REQUIRED, ...dkim }, 'delivery', () => pem(rsa));
    expect(settings.dkim).toEqual({
      domain: 'example.com',
      selector: '2026a',
      privateKey: pem(rsa),
    });
  });

  test('a key of another kind, no key, no file: each is a fault without what was in it', () => {
    for (const readFile of [() => pem(ed25519), () => pem(pss), () => 'hunter2hunter2', noFile]) {
      const { faults, message } = errorOf({ ...REQUIRED, ...dkim }, 'delivery', readFile);
      expect(faults.map(({ name }) => name)).toEqual(['GHOST_DKIM_KEY_FILE="/dkim.pem"']);
      expect(message).not.toMatch(/PRIVATE|hunter2|MC4C/);
    }
  });

  test('a CA file without a certificate is a fault', () => {
    const env = { ...REQUIRED, GHOST_EXTRA_CA_FILE: '/ca.pem' };
    const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----';
    for (const text of ['', broken]) {
      expect(errorOf(env, 'delivery', () => text).faults).toHaveLength(1);
    }
    expect(errorOf(env, 'delivery').message).toContain('ENOENT');
  });

  test('are not touched by processes that do not use them', () => {
    const env = { ...REQUIRED, ...dkim, GHOST_EXTRA_CA_FILE: '/ca.pem' };
    expect(readSettings(env, 'api', noFile)).toMatchObject({ extraCa: [], dkim: null });
    expect(() => readSettings(env, 'cli', noFile)).not.toThrow();
  });
});

describe('the error', () => {
  const broken = {
    DATABASE_URL: 'mysql://db/ghost?user=ghost&password=s3cr3tpass',
    GHOST_SECRET_KEYS: `k1:${KEY}x,${KEY}`,
    GHOST_SMTP_URL: 'smtp://mailer:s3cr3tpass@relay/path',
    GHOST_EGRESS_PROXY: 'ftp://proxy:s3cr3tpass@x',
    GHOST_PUBLIC_URL: 'http://admin:s3cr3tpass@ghost.example.com',
    GHOST_DELIVERY_WAKE_URL: 'http://x:s3cr3tpass@delivery/wake',
    GHOST_ALLOW_HOSTS: 'https://x:s3cr3tpass@ci.internal',
    GHOST_SMTP_PASSWORD: 's3cr3tpass',
    GHOST_LEASE_MS: '10',
    GHOST_SMPT_URL: 'smtp://x',
    GHOST_MAX_ATTEMPT: '3',
    GHOST_TOTALLY_MADE_UP: '1',
    PORT: 'http',
  };
  const error = errorOf(broken);

  test('reports every fault together, each with what to do, and exits 78', () => {
    const names = error.faults.map(({ name }) => name.split('=')[0]);
    expect(new Set(names)).toEqual(new Set(Object.keys(broken)));
    for (const { name, problem, remedy } of error.faults) {
      expect(error.message).toContain(`${name} ${problem}. ${remedy}.`);
      expect(remedy).not.toBe('');
    }
    expect(error.exitCode).toBe(78);
    expect(EXIT).toEqual({ config: 78, unavailable: 69, failed: 1 });
  });

  test('shows bad values, but never a secret or a piece of a key', () => {
    expect(error.message).toContain('GHOST_LEASE_MS="10"');
    expect(error.message).toContain('PORT="http"');
    const said = error.message + JSON.stringify(error);
    expect(said).not.toContain('s3cr3tpass');
    for (let at = 0; at + 6 <= KEY.length; at += 1) {
      expect(said).not.toContain(KEY.slice(at, at + 6));
    }
  });

  test('hints at the name that was meant, when one is near', () => {
    expect(error.message).toContain(
      'GHOST_SMPT_URL is no setting of Ghost. Did you mean GHOST_SMTP_URL?',
    );
    expect(error.message).toContain('Did you mean GHOST_MAX_ATTEMPTS?');
    expect(error.message).toContain('GHOST_TOTALLY_MADE_UP is no setting of Ghost. Remove it.');
  });

  test('cuts long values and keeps each fault on one line', () => {
    const { message } = errorOf({ ...REQUIRED, LOG_LEVEL: `a\n${'b'.repeat(500)}` });
    expect(message.split('\n')).toHaveLength(2);
    expect(message.length).toBeLessThan(300);
  });
});
