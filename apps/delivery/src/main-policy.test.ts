import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { GENERIC_REFUSAL } from '@ghost/policy';
import { describe, expect, onTestFinished, test } from 'vitest';

import { createDeliverySeed } from '../../../test/support/delivery-seed.js';
import {
  API_ENTRY,
  DELIVERY_ENTRY,
  testEnvironment,
} from '../../../test/support/ghost-processes.js';
import { startProcess } from '../../../test/support/processes.js';
import { dnsServer, rawServer, secureReceiver } from '../../../test/support/servers-of-a-test.js';
import { createTestDatabase } from '../../../test/support/test-database.js';
import {
  EXPIRED_CERTIFICATE,
  SIGNED_CERTIFICATE,
  TEST_CERTIFICATE,
} from '../../../test/support/tls-certificate.js';
import { waitUntil } from '../../../test/support/wait-until.js';

describe('a bad entry about addresses', () => {
  const bad = {
    GHOST_ALLOW_CIDRS: '10.0.0.0/8,0.0.0.0/0,10.1.2.3/8',
    GHOST_DENY_CIDRS: '203.0.113.0/33',
    GHOST_ALLOW_HOSTS: '*.corp.example,*,localhost,http://ci.internal',
    GHOST_WEBHOOK_PORTS: '443,https',
    GHOST_WEBHOOK_HTTPS_ONLY: 'maybe',
    GHOST_ALLOW_NAT64: '64:ff9b::/96',
    GHOST_EGRESS_PROXY: 'socks5://proxy.internal:1080',
    GHOST_EXTRA_CA_FILE: '/nowhere/ca.pem',
    GHOST_DNS_SERVERS: 'dns.example',
  };

  test.each([
    ['delivery', DELIVERY_ENTRY, []],
    // The API sends nothing, so it opens no file.
    ['api', API_ENTRY, ['GHOST_EXTRA_CA_FILE']],
  ])('stops the start of the %s: 78, every fault in one message', async (who, entry, unread) => {
    const env = testEnvironment('postgres://ghost@127.0.0.1:1/ghost', { ...bad, PORT: '0' });
    const more = who === 'api' ? { GHOST_PUBLIC_URL: 'https://ghost.example' } : {};
    const running = await startProcess({ name: who, entry, env: { ...env, ...more } });
    const { code } = await running.exited;
    const text = running.lines().join('\n');
    expect(code).toBe(78);
    for (const [name, value] of Object.entries(bad)) {
      if (unread.includes(name)) continue;
      expect(text).toContain(name);
      // Each bad entry, and none of the good ones.
      for (const entryOf of value.split(',')) {
        const good = ['10.0.0.0/8', '*.corp.example', '443'].includes(entryOf);
        if (name.endsWith('CIDRS') || name.endsWith('HOSTS') || name.endsWith('PORTS')) {
          expect(text.includes(`entry "${entryOf}"`), entryOf).toBe(!good);
        }
      }
    }
  });
});

describe('delivery as it is run', () => {
  test('trusts the authorities that are added, and any where a hook says so; tells an owner one sentence and its log the reason', async () => {
    const database = await createTestDatabase();
    onTestFinished(() => database.drop());
    const seed = await createDeliverySeed(database.url);
    onTestFinished(() => seed.close());
    const folder = await mkdtemp(path.join(tmpdir(), 'ghost-ca-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(path.join(folder, 'ca.pem'), `ours:\n${TEST_CERTIFICATE}`);
    const secure = await secureReceiver({ cert: SIGNED_CERTIFICATE });
    const expired = await secureReceiver({ cert: EXPIRED_CERTIFICATE });
    const inner = await rawServer(() => undefined);
    const dns = await dnsServer((name, type) =>
      type === 'AAAA' ? [] : [name.startsWith('inside') ? '127.0.0.9' : '127.0.0.1'],
    );
    const delivery = await startProcess({
      name: 'delivery',
      entry: DELIVERY_ENTRY,
      env: testEnvironment(database.url, {
        PORT: '0',
        GHOST_ALLOW_CIDRS: '127.0.0.1',
        GHOST_DNS_SERVERS: dns.address,
        GHOST_EXTRA_CA_FILE: path.join(folder, 'ca.pem'),
      }),
      ready: /"delivery\.started"/u,
    });
    const hookIds: number[] = [];
    for (const url of [
      `https://hooks.example.com:${secure.port}/x`,
      `http://inside.example.com:${inner.port}/x`,
      `https://hooks.example.com:${expired.port}/x`,
      `https://any.example.com:${expired.port}/x`,
    ]) {
      hookIds.push(await seed.hook(url));
    }
    const insecure = hookIds.at(-1);
    await seed.pool.query('UPDATE hook SET insecure_ssl = true WHERE id = $1', [insecure]);
    const jobs = await seed.webhooks(hookIds);
    await waitUntil(async () => (await seed.attempts()).length === 4, { what: 'all attempts' });
    const attempts = await seed.attempts();
    expect(jobs.map((id) => attempts.find(({ jobId }) => jobId === id))).toMatchObject([
      { outcome: 'delivered' },
      { outcome: 'retry', reason: 'forbidden_address', message: GENERIC_REFUSAL },
      { outcome: 'retry', reason: 'tls_expired' },
      { outcome: 'delivered' },
    ]);
    const line = await delivery.waitForLine(/"forbidden_address"/u);
    expect(JSON.parse(line)).toMatchObject({
      refusal: 'loopback',
      setting: 'GHOST_ALLOW_CIDRS',
      address: '127.0.0.9',
    });
    expect(line).not.toContain('inside.example.com');
    expect(secure.asked).toEqual(['hooks.example.com']);
    expect(expired.heads).toHaveLength(1);
    expect(inner.connections()).toBe(0);
    expect(await delivery.stop()).toMatchObject({ code: 0 });
  });
});
