import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { type RunningProcess, startProcess } from './processes.js';

const LOOPBACK = '127.0.0.1';

/** The folder of the repository, wherever this module runs from. */
export const REPOSITORY = rootOf(path.dirname(fileURLToPath(import.meta.url)));

export const API_ENTRY = path.join(REPOSITORY, 'apps/api/dist/main.js');
export const DELIVERY_ENTRY = path.join(REPOSITORY, 'apps/delivery/dist/main.js');
export const CLI_ENTRY = path.join(REPOSITORY, 'apps/cli/bin/ghost.js');

/** 32 bytes that are no secret; not one byte repeated, which the settings refuse. */
export const TEST_SECRET_KEYS = `test:${createHash('sha256').update('test').digest('base64')}`;

function rootOf(folder: string): string {
  // `test/support` as source, `test/dist/test/support` or the like when built.
  for (let at = folder; at !== path.dirname(at); at = path.dirname(at)) {
    if (path.basename(at) === 'test' && path.basename(path.dirname(at)) !== 'dist')
      return path.dirname(at);
  }
  throw new Error(`No repository above ${folder}`);
}

/** A port that nobody has now; a process that is killed and restarted needs the same one again. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('No port.');
  return address.port;
}

/** The environment of both processes for tests: loopback allowed, clear-text SMTP, no secret of worth. */
export function testEnvironment(databaseUrl: string, more: Readonly<Record<string, string>> = {}) {
  return {
    DATABASE_URL: databaseUrl,
    GHOST_SECRET_KEYS: TEST_SECRET_KEYS,
    GHOST_MAIL_FROM: 'notifications@ghost.example',
    GHOST_SMTP_TLS: 'off',
    GHOST_ALLOW_CIDRS: '127.0.0.0/8',
    GHOST_RATE_LIMIT: '0',
    GHOST_RATE_LIMIT_ANONYMOUS: '0',
    ...more,
  };
}

export function startApi(
  port: number,
  env: Readonly<Record<string, string>>,
): Promise<RunningProcess> {
  return startProcess({
    name: 'api',
    entry: API_ENTRY,
    env: { ...env, PORT: String(port) },
    ready: /"api\.started"/,
  });
}

export function startDelivery(
  port: number,
  env: Readonly<Record<string, string>>,
): Promise<RunningProcess> {
  return startProcess({
    name: 'delivery',
    entry: DELIVERY_ENTRY,
    env: { ...env, PORT: String(port) },
    ready: /"delivery\.started"/,
  });
}
