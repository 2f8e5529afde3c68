import type { Pool } from '@ghost/db';

import { createDeliverySeed } from '../delivery-seed.js';
import { DELIVERY_ENTRY, freePort, testEnvironment } from '../ghost-processes.js';
import { type MailCatcher, startMailCatcher } from '../mail-catcher.js';
import { type RunningProcess, startProcess } from '../processes.js';
import { startProofApi, startProofDatabase } from '../proof-world.js';
import { quantile } from '../quantile.js';
import type { Stops } from '../stops.js';
import { openPool } from '../test-database.js';
import { waitUntil } from '../wait-until.js';
import { createPoster, type Poster, type Timing } from './light-load.js';
import { type LoadReceiver, startLoadReceiver } from './receiver.js';

/** Enqueues of the load run beside each other; the server takes 100 connections in all. */
const POOL_SIZE = 10;

/** API and delivery as they are run for real, on a durable server, with a receiver and a mail catcher. */
export interface LoadWorld {
  pool: Pool;
  databaseUrl: string;
  receiver: LoadReceiver;
  mails: MailCatcher;
  delivery: RunningProcess;
  post: Poster;
}

export async function startLoadWorld(
  stops: Stops,
  more: Readonly<Record<string, string>> = {},
): Promise<LoadWorld> {
  const { url } = await startProofDatabase(stops);
  const pool = openPool(url, POOL_SIZE);
  stops.add(() => pool.end());
  await (await createDeliverySeed(url)).close();
  const receiver = await startLoadReceiver(stops);
  const mails = await startMailCatcher();
  stops.add(() => mails.stop());
  const env = { GHOST_SMTP_URL: mails.url, ...more };
  const api = await startProofApi(stops, url, env);
  const delivery = await startWorker(stops, url, env);
  const post = await createPoster(stops, pool, api.url);
  return { pool, databaseUrl: url, receiver, mails, delivery, post };
}

/** One delivery process, as it is run for real; a line for each attempt would cost the proof as much as the load. */
export async function startWorker(
  stops: Stops,
  databaseUrl: string,
  more: Readonly<Record<string, string>> = {},
): Promise<RunningProcess> {
  const port = await freePort();
  const worker = await startProcess({
    name: 'delivery',
    entry: DELIVERY_ENTRY,
    env: testEnvironment(databaseUrl, { LOG_LEVEL: 'warn', PORT: String(port), ...more }),
  });
  stops.add(() => worker.stop());
  await waitUntil(() => isReady(port), { timeoutMs: 30_000, what: 'delivery to be ready' });
  return worker;
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
  } catch {
    return false;
  }
}

export function p99(timings: readonly Timing[]): number {
  return quantile(
    timings.map((one) => one.tookMs),
    0.99,
  );
}

/** "p50 6, p99 21, worst 44 ms of 1,500" */
export function describeTimings(timings: readonly Timing[]): string {
  const took = timings.map((one) => one.tookMs);
  const [p50, most] = [quantile(took, 0.5), quantile(took, 1)];
  return `p50 ${p50.toFixed(0)}, p99 ${p99(timings).toFixed(0)}, worst ${most.toFixed(0)} ms of ${took.length}`;
}
