import { mkdir } from 'node:fs/promises';
import path from 'node:path';

import { freePort } from './process/free-port.js';
import { type Running, startProcess } from './process/start-process.js';

/** A Redis of its own, as BullMQ advises for production: an append-only file, nothing evicted. */
export async function startRedis(
  program: string,
  folder: string,
): Promise<Running & { url: string }> {
  const port = await freePort();
  const dir = path.join(folder, 'redis');
  await mkdir(dir);
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir,
    save: '',
    appendonly: 'yes',
    appendfsync: 'everysec',
    'maxmemory-policy': 'noeviction',
  };
  const running = await startProcess({
    name: 'Redis',
    command: [
      program,
      ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
    ],
    logFile: path.join(folder, 'redis.log'),
    ready: 'Ready to accept connections',
  });
  return { ...running, url: `redis://127.0.0.1:${port}` };
}
