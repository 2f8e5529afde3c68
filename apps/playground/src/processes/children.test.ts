import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { findFreePort } from '../embedded/ports.js';
import { type Child, launchChild, untilReady } from './children.js';
import { type LineLog, openLineLog } from './line-log.js';

let folder: string;
let log: LineLog;
let child: Child | undefined;
let other: Server | undefined;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'ghost-children-'));
  log = openLineLog(path.join(folder, 'child.log'));
});
afterEach(async () => {
  child?.kill();
  await child?.ended;
  other?.close();
  log.close();
  child = other = undefined;
  await rm(folder, { recursive: true, force: true });
});

/** A child that runs this text, with the port in PORT. */
async function launch(text: string, port: number): Promise<Child> {
  const file = path.join(folder, 'child.mjs');
  await writeFile(file, text);
  child = launchChild({
    name: 'child',
    entry: pathToFileURL(file),
    env: { PORT: String(port) },
    log,
    graceMs: 100,
  });
  return child;
}

function wait(of: Child, port: number): Promise<void> {
  const readyUrl = `http://127.0.0.1:${port}/readyz`;
  return untilReady(of, { readyUrl, log, signal: new AbortController().signal });
}

const SERVES = `import { createServer } from 'node:http';
createServer((request, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('ok'))
  .listen(Number(process.env.PORT), '127.0.0.1');`;

describe('a child', () => {
  test('is ready when it says so', async () => {
    const port = await findFreePort();
    await wait(await launch(SERVES, port), port);
    const foreign = await fetch(`http://127.0.0.1:${port}/else`);
    expect(foreign.headers.get('x-playground-ready')).toBeNull();
  });

  test('is not what another program on its port answers: its end is told', async () => {
    let asked = 0;
    other = createServer((_request, response) => {
      asked += 1;
      response.end('ok');
    });
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const dies = await launch(SERVES, port);
    await expect(wait(dies, port)).rejects.toMatchObject({
      name: 'ChildDiedError',
      end: { code: 1 },
    });
    expect(asked).toBeGreaterThan(0);
  });
});
