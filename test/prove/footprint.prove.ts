import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { createDeliverySeed, type DeliverySeed } from '../support/delivery-seed.js';
import { DELIVERY_ENTRY, testEnvironment } from '../support/ghost-processes.js';
import { startMailCatcher } from '../support/mail-catcher.js';
import { type RunningProcess, startProcess } from '../support/processes.js';
import { type ProofRow, startProofDatabase } from '../support/proof-world.js';
import { residentBytes } from '../support/resident-memory.js';
import { type Stops, withStops } from '../support/stops.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { waitUntil } from '../support/wait-until.js';

export const name = 'An idle delivery process says nothing and is small, also after a burst';

const STARTS = 5;
/** After a start nothing more is allocated. */
const SETTLED_MS = 3_000;
const IDLE_RATIO = 1.4;
/** The pool closes its connections after 30 s: the last bytes of a process that comes to rest. */
const AT_REST_MS = 35_000;
const WATCHED_MS = 60_000;
const FIRST_JOBS = 100;
const JOBS = 100_000;
const HOOKS = 100;
const ENQUEUED_AT_ONCE = 1_000;
const BURST_WITHIN_MS = 20 * 60_000;
const BURST_RATIO = 1.5;
const A_MINUTE_MS = 60_000;
const MB = 1024 * 1024;

const megabytes = (bytes: number) => `${(bytes / MB).toFixed(1)} MB`;

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const statements: string[] = [];
    const database = await startProofDatabase(stops, { log_line_prefix: '%a|' }, (line) => {
      if (line.startsWith('ghost delivery')) statements.push(line);
    });
    yield* smallBeforeTheFirstJob(stops, database.url);

    const seed = await createDeliverySeed(database.url);
    stops.add(() => seed.close());
    const proxy = await startTcpProxy({ targetPort: Number(new URL(database.url).port) });
    stops.add(() => proxy.stop());
    const delivery = await startPlainly(testEnvironment(proxy.urlFor(database.url)));
    stops.add(() => delivery.stop());
    const hooks = await makeHooks(stops, seed);

    await logStatements(seed, 'all');
    await deliver(seed, hooks, FIRST_JOBS);
    await delay(AT_REST_MS);
    const [bytes, said] = [proxy.bytes(), statements.length];
    await delay(WATCHED_MS);
    yield {
      what: 'idle for a minute: statements in the server log, bytes',
      figure: `${statements.length - said}, ${proxy.bytes() - bytes}`,
      bound: '0, 0',
      ok: said > 0 && statements.length === said && proxy.bytes() === bytes,
    };
    const afterFirst = residentBytes(delivery.pid);

    await logStatements(seed, 'none');
    await deliver(seed, hooks, JOBS);
    const atOnce = residentBytes(delivery.pid);
    await delay(A_MINUTE_MS);
    const afterBurst = residentBytes(delivery.pid);
    yield {
      what: `resident a minute after ${JOBS} jobs (at their end ${megabytes(atOnce)})`,
      figure: megabytes(afterBurst),
      bound: `≤ ${BURST_RATIO} × ${megabytes(afterFirst)} after ${FIRST_JOBS}`,
      ok: afterBurst <= BURST_RATIO * afterFirst,
    };
  });
}

/** For the server as it runs: the statements of a burst, with all their values, would fill the log. */
async function logStatements({ pool }: DeliverySeed, which: 'all' | 'none'): Promise<void> {
  await pool.query(`ALTER SYSTEM SET log_statement = '${which}'`);
  await pool.query('SELECT pg_reload_conf()');
}

async function* smallBeforeTheFirstJob(
  stops: Stops,
  databaseUrl: string,
): AsyncGenerator<ProofRow> {
  const mails = await startMailCatcher();
  stops.add(() => mails.stop());
  const bare = await residentAfterStart(() =>
    startProcess({
      name: 'bare Node',
      command: [process.execPath, '-e', 'setInterval(() => {}, 1e9)'],
    }),
  );
  for (const [what, more] of [
    ['webhooks alone', {}],
    ['with a mail relay', { GHOST_SMTP_URL: mails.url }],
  ] as const) {
    const idle = await residentAfterStart(() => startPlainly(testEnvironment(databaseUrl, more)));
    yield {
      what: `resident before the first job, ${what} (median of ${STARTS})`,
      figure: `${(idle / bare).toFixed(2)} × (${megabytes(idle)})`,
      bound: `≤ ${IDLE_RATIO} × bare Node (${megabytes(bare)})`,
      ok: idle <= IDLE_RATIO * bare,
    };
  }
}

/** As in production: without the flag for source maps, which tests set and which costs 4.5 MB. */
function startPlainly(env: Readonly<Record<string, string>>): Promise<RunningProcess> {
  return startProcess({
    name: 'delivery',
    command: [process.execPath, DELIVERY_ENTRY],
    env: { ...env, PORT: '0' },
    ready: /"delivery\.started"/u,
  });
}

async function residentAfterStart(start: () => Promise<RunningProcess>): Promise<number> {
  const found: number[] = [];
  for (let n = 0; n < STARTS; n += 1) {
    const running = await start();
    await delay(SETTLED_MS);
    found.push(residentBytes(running.pid));
    await running.stop();
  }
  return found.toSorted((a, b) => a - b)[Math.floor(STARTS / 2)] ?? Number.NaN;
}

/** Hooks of one receiver that answers 200 and keeps nothing. */
async function makeHooks(stops: Stops, seed: DeliverySeed): Promise<number[]> {
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => response.end('ok'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stops.add(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const hooks: number[] = [];
  for (let n = 0; n < HOOKS; n += 1) hooks.push(await seed.hook(`http://127.0.0.1:${port}/`));
  return hooks;
}

/** Enqueues so many jobs over the hooks, and waits until all were sent. */
async function deliver(seed: DeliverySeed, hooks: readonly number[], jobs: number): Promise<void> {
  for (let n = 0; n < jobs; n += ENQUEUED_AT_ONCE) {
    const length = Math.min(ENQUEUED_AT_ONCE, jobs - n);
    const targets = Array.from({ length }, (_, index) => hooks[index % hooks.length] ?? 0);
    await seed.webhooks(targets);
  }
  await waitUntil(
    async () => {
      const { rows } = await seed.pool.query<{ open: boolean }>(
        `SELECT EXISTS (SELECT FROM delivery_job WHERE status = 'pending') AS open`,
      );
      return rows[0]?.open === false;
    },
    { everyMs: 500, timeoutMs: BURST_WITHIN_MS, what: 'every job to be sent' },
  );
}
