import { openSync, readSync, closeSync, existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { aheadOfWallClockMs } from '../clock.js';
import { loopbackHosts } from '../load.js';
import { freePort } from '../process/free-port.js';
import { startProcess } from '../process/start-process.js';
import type { Receipts, Receiver } from './receiver.js';

/** nginx writes what it has gathered of its log this often. */
const FLUSH_MS = 100;
const READ_BYTES = 1024 * 1024;
/** nginx writes whole milliseconds, cut off. */
const HALF_OF_A_TICK_MS = 0.5;

/** Starts nginx, which answers 200 and notes each webhook in a log that is read here. */
export async function startNginxReceiver(program: string, folder: string): Promise<Receiver> {
  const port = await freePort();
  const log = path.join(folder, 'nginx-access.log');
  const config = path.join(folder, 'nginx.conf');
  await writeFile(config, configOf(folder, port, log));
  const running = await startProcess({
    name: 'nginx',
    // It says when it listens only at this level.
    command: [
      program,
      '-p',
      folder,
      '-c',
      config,
      '-e',
      'stderr',
      '-g',
      'error_log stderr notice;',
    ],
    logFile: path.join(folder, 'nginx.log'),
    ready: 'start worker process',
  });
  const seen = new AccessLog(log);
  return {
    kind: 'nginx',
    port,
    pid: running.pid,
    reset: async () => {
      await delay(3 * FLUSH_MS);
      seen.reset();
    },
    receipts: async () => seen.receipts(),
    times: async () => {
      await delay(3 * FLUSH_MS);
      return seen.times();
    },
    stop: () => running.stop(),
  };
}

function configOf(folder: string, port: number, log: string): string {
  const listens = loopbackHosts().map((host) => `    listen ${host}:${port} backlog=1024;`);
  return `daemon off;
worker_processes 1;
worker_rlimit_nofile 16384;
pid ${folder}/nginx.pid;
events { worker_connections 8192; }
http {
  log_format times '$msec $http_webhook_id';
  access_log ${log} times buffer=64k flush=${FLUSH_MS}ms;
  keepalive_requests 10000000;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  default_type text/plain;
  server {
${listens.join('\n')}
    location / { return 200 'ok'; }
  }
}
`;
}

/** The lines since the last reset: a wall clock in seconds with milliseconds, and a `webhook-id`. */
class AccessLog {
  readonly #file: string;
  #offset = 0;
  #rest = '';
  #lines: { atMs: number; id: string }[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  reset(): void {
    this.#read();
    this.#lines = [];
  }

  receipts(): Receipts {
    this.#read();
    return {
      count: this.#lines.length,
      firstMs: this.#lines[0]?.atMs ?? 0,
      lastMs: this.#lines.at(-1)?.atMs ?? 0,
    };
  }

  times(): Map<string, number> {
    this.#read();
    const times = new Map<string, number>();
    for (const { id, atMs } of this.#lines) if (!times.has(id)) times.set(id, atMs);
    return times;
  }

  #read(): void {
    if (!existsSync(this.#file)) return;
    const ahead = aheadOfWallClockMs();
    const file = openSync(this.#file, 'r');
    const bytes = Buffer.alloc(READ_BYTES);
    for (let read = 1; read > 0; this.#offset += read) {
      read = readSync(file, bytes, 0, READ_BYTES, this.#offset);
      this.#rest += bytes.toString('latin1', 0, read);
    }
    closeSync(file);
    const lines = this.#rest.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const [seconds, id = ''] = line.split(' ');
      this.#lines.push({ atMs: Number(seconds) * 1000 + HALF_OF_A_TICK_MS + ahead, id });
    }
  }
}
