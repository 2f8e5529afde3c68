import { closeSync, existsSync, openSync, readSync } from 'node:fs';
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
const NEW_LINE = 0x0a;

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

/**
 * The lines since the last reset: a wall clock in seconds with milliseconds, and a `webhook-id`. They are only counted while a
 * contender is measured: to take each of them apart, with the garbage of that, took 10 % of a core from whoever uses all of both.
 */
class AccessLog {
  readonly #file: string;
  readonly #buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  /** Up to where it was read, and where the first line after the reset begins. */
  #offset = 0;
  #begin = 0;
  #count = 0;
  #first = '';
  #last = '';
  #rest = '';
  #ahead = 0;

  constructor(file: string) {
    this.#file = file;
  }

  reset(): void {
    this.#read();
    this.#begin = this.#offset - this.#rest.length;
    this.#count = 0;
    this.#first = '';
    this.#last = '';
    this.#ahead = aheadOfWallClockMs();
  }

  receipts(): Receipts {
    this.#read();
    const at = (line: string) => (line === '' ? 0 : parsed(line).wallMs + this.#ahead);
    return { count: this.#count, firstMs: at(this.#first), lastMs: at(this.#last) };
  }

  times(): Map<string, number> {
    this.#read();
    const ahead = aheadOfWallClockMs();
    const bytes = Buffer.alloc(this.#offset - this.#begin);
    const file = openSync(this.#file, 'r');
    readSync(file, bytes, 0, bytes.length, this.#begin);
    closeSync(file);
    const times = new Map<string, number>();
    for (const line of bytes.toString('latin1').split('\n').slice(0, -1)) {
      const { wallMs, id } = parsed(line);
      if (!times.has(id)) times.set(id, wallMs + ahead);
    }
    return times;
  }

  #read(): void {
    if (!existsSync(this.#file)) return;
    const file = openSync(this.#file, 'r');
    for (let length = -1; length !== 0; this.#offset += length) {
      length = readSync(file, this.#buffer, 0, READ_BYTES, this.#offset);
      this.#take(this.#buffer.subarray(0, length));
    }
    closeSync(file);
  }

  #take(bytes: Buffer): void {
    let from = 0;
    let line = -1;
    for (let end = bytes.indexOf(NEW_LINE); end >= 0; end = bytes.indexOf(NEW_LINE, from)) {
      if (this.#count === 0) this.#first = this.#rest + bytes.toString('latin1', from, end);
      this.#count += 1;
      line = from;
      from = end + 1;
    }
    if (line >= 0) {
      this.#last = (line === 0 ? this.#rest : '') + bytes.toString('latin1', line, from - 1);
      this.#rest = '';
    }
    this.#rest += bytes.toString('latin1', from);
  }
}

function parsed(line: string): { wallMs: number; id: string } {
  const [seconds, id = ''] = line.split(' ');
  return { wallMs: Number(seconds) * 1000 + HALF_OF_A_TICK_MS, id };
}
