import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, onTestFinished, test } from 'vitest';

import { createDeliverySeed, SEED_KEYS } from '../../../test/support/delivery-seed.js';
import { startProcess } from '../../../test/support/processes.js';
import { createTestDatabase } from '../../../test/support/test-database.js';
import { waitUntil } from '../../../test/support/wait-until.js';
import { startReceiver } from '../../../test/support/webhook-receiver.js';

const ENTRY = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const LATE_LIBRARIES = ['drizzle-orm', 'nodemailer', 'prom-client', 'zod'];
/** TLS and the built-in fetch are the parts of Node that cost most: 2 MB and 7 MB. */
const LATE_NODE_MODULES = ['internal/deps/undici/undici', 'tls'];
// Written at the end: which of its own modules Node has loaded.
const TELL_NODE_MODULES = `data:text/javascript,${encodeURIComponent(
  `process.on('exit', () => process._rawDebug('LOADED ' + process.moduleLoadList.join(',')))`,
)}`;

/** What a process loads until it is stopped: libraries of the bundle, and modules of Node's own. */
async function loadedBy(databaseUrl: string, work: (port: number) => Promise<void>) {
  const coverage = await mkdtemp(path.join(tmpdir(), 'ghost-loaded-'));
  onTestFinished(() => rm(coverage, { recursive: true, force: true }));
  const delivery = await startProcess({
    name: 'delivery',
    command: [process.execPath, '--import', TELL_NODE_MODULES, ENTRY],
    env: {
      DATABASE_URL: databaseUrl,
      GHOST_SECRET_KEYS: SEED_KEYS,
      GHOST_ALLOW_CIDRS: '127.0.0.0/8',
      PORT: '0',
      NODE_V8_COVERAGE: coverage,
    },
    ready: /"delivery\.started"/u,
  });
  const started = await delivery.waitForLine(/"delivery\.started"/u);
  await work((JSON.parse(started) as { port: number }).port);
  expect(await delivery.stop()).toEqual({ code: 0, signal: null });
  const told = delivery.lines().find((line) => line.startsWith('LOADED ')) ?? '';
  const nodeModules = told.match(/(?<=NativeModule )[^,]+/gu) ?? [];
  return { libraries: await librariesIn(coverage), nodeModules };
}

/** The map of each file of the bundle names the modules in it. */
async function librariesIn(coverage: string): Promise<string[]> {
  const found = new Set<string>();
  for (const name of await readdir(coverage)) {
    const report = JSON.parse(await readFile(path.join(coverage, name), 'utf8')) as {
      result: { url: string }[];
    };
    for (const { url } of report.result) {
      if (!url.startsWith('file:')) continue;
      const map = await readFile(`${fileURLToPath(url)}.map`, 'utf8');
      for (const source of (JSON.parse(map) as { sources: string[] }).sources) {
        const library = /node_modules\/((?:@[^/]+\/)?[^/]+)\//u.exec(source)?.[1];
        if (library) found.add(library);
      }
    }
  }
  return [...found];
}

test('what the first job needs is loaded with it, and not before', async () => {
  const database = await createTestDatabase();
  const seed = await createDeliverySeed(database.url);
  const receiver = await startReceiver();
  onTestFinished(async () => {
    await Promise.all([receiver.stop(), seed.close()]);
    await database.drop();
  });

  const idle = await loadedBy(database.url, () => Promise.resolve());
  expect(idle.libraries).toContain('pg');
  expect(idle.libraries.filter((name) => LATE_LIBRARIES.includes(name))).toEqual([]);
  expect(idle.nodeModules).toContain('net');
  expect(idle.nodeModules.filter((name) => LATE_NODE_MODULES.includes(name))).toEqual([]);

  const busy = await loadedBy(database.url, async (port) => {
    await seed.webhooks([await seed.hook(receiver.url)]);
    await waitUntil(async () => (await seed.jobs()).every(({ status }) => status === 'delivered'), {
      what: 'the webhook to be delivered',
    });
    expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(200);
  });
  expect(busy.libraries).toEqual(expect.arrayContaining(['zod', 'prom-client']));
  expect(busy.nodeModules).toContain('tls');
});
