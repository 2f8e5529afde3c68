import { once } from 'node:events';
import { createServer } from 'node:net';

import { describe, expect, test } from 'vitest';

import { deliveryProcesses } from '../../../test/support/delivery-processes.js';
import { startMailCatcher } from '../../../test/support/mail-catcher.js';
import { startRawServer } from '../../../test/support/raw-server.js';

const ran = deliveryProcesses();

describe('a start that cannot work says what to do', () => {
  test('several bad settings: all in one message, 78', async () => {
    const { code, text } = await ran.failToStart({
      GHOST_LEESE_MS: '5',
      GHOST_CONCURRENCY: 'many',
      GHOST_ALLOW_CIDRS: '10.0.0.0/99',
    });
    expect(code).toBe(78);
    for (const name of ['GHOST_LEESE_MS', 'GHOST_CONCURRENCY', 'GHOST_ALLOW_CIDRS']) {
      expect(text).toContain(name);
    }
  });

  test('no database there: 69', async () => {
    const { code, text } = await ran.failToStart({
      DATABASE_URL: 'postgres://ghost:hidden@127.0.0.1:1/ghost',
    });
    expect(code).toBe(69);
    expect(text).toMatch(/Start Postgres, or correct DATABASE_URL/u);
    expect(text).not.toContain('hidden');
  });

  test('a database without this version’s tables: 78, and what to run', async () => {
    await ran.seed.pool.query('DROP SCHEMA drizzle CASCADE');
    const { code, text } = await ran.failToStart({});
    expect(code).toBe(78);
    expect(text).toContain('npx ghost migrate');
  });

  test('a key that opens none of the secrets: 78', async () => {
    await ran.seed.hook('http://127.0.0.1:1/');
    const other = `other:${Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString('base64')}`;
    const { code, text } = await ran.failToStart({ GHOST_SECRET_KEYS: other });
    expect(code).toBe(78);
    expect(text).toContain('GHOST_SECRET_KEYS');
  });

  test('a port that is taken: 69', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    ran.cleanups.push(() => server.close());
    const { port } = server.address() as { port: number };
    const { code, text } = await ran.failToStart({ PORT: String(port) });
    expect(code).toBe(69);
    expect(text).toMatch(/Cannot listen on 127\.0\.0\.1:\d+ \(EADDRINUSE\)/u);
  });

  test('a relay that is out of reach, or offers no TLS where it is required: 69', async () => {
    const closed = await startRawServer(() => undefined);
    await closed.stop();
    const gone = await ran.failToStart({ GHOST_SMTP_URL: `smtp://127.0.0.1:${closed.port}` });
    expect(gone.code).toBe(69);
    expect(gone.text).toContain('GHOST_SMTP_URL');
    const relay = await startMailCatcher();
    ran.cleanups.push(() => relay.stop());
    const plain = await ran.failToStart({ GHOST_SMTP_URL: relay.url, GHOST_SMTP_TLS: 'required' });
    expect(plain.code).toBe(69);
    expect(plain.text).toContain('GHOST_SMTP_TLS=off');
  }, 30_000);
});
