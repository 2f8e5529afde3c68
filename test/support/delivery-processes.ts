import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach } from 'vitest';

import { createDeliverySeed, type DeliverySeed, SEED_KEYS } from './delivery-seed.js';
import { type RunningProcess, startProcess } from './processes.js';
import { startTcpProxy } from './tcp-proxy.js';
import { createTestDatabase, type TestDatabase } from './test-database.js';
import { waitUntil } from './wait-until.js';
import { type ReceiverHandler, startReceiver, type WebhookReceiver } from './webhook-receiver.js';

const ENTRY = fileURLToPath(new URL('../../apps/delivery/dist/main.js', import.meta.url));

export interface Delivery extends RunningProcess {
  port: number;
  logged(): Record<string, unknown>[];
}

/** What the tests of a file share: for each a database of its own, and what it starts is stopped behind it. */
export function deliveryProcesses() {
  let database: TestDatabase;
  let seed: DeliverySeed;
  const cleanups: (() => unknown)[] = [];
  beforeEach(async () => {
    database = await createTestDatabase();
    seed = await createDeliverySeed(database.url);
    cleanups.push(
      () => database.drop(),
      () => seed.close(),
    );
  });
  afterEach(async () => {
    for (const clean of cleanups.splice(0).toReversed()) await clean();
  });
  const environment = (more: Record<string, string> = {}) => ({
    DATABASE_URL: database.url,
    GHOST_SECRET_KEYS: SEED_KEYS,
    GHOST_ALLOW_CIDRS: '127.0.0.0/8',
    GHOST_SMTP_TLS: 'off',
    PORT: '0',
    ...more,
  });

  async function startDelivery(more?: Record<string, string>): Promise<Delivery> {
    const running = await startProcess({
      name: 'delivery',
      entry: ENTRY,
      env: environment(more),
      ready: /"delivery\.started"/u,
    });
    const logged = () =>
      running
        .lines()
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    const port = logged().find(({ event }) => event === 'delivery.started')?.['port'];
    return { ...running, port: Number(port), logged };
  }

  return {
    cleanups,
    get database() {
      return database;
    },
    get seed() {
      return seed;
    },
    startDelivery,
    /** Starts a process that must not come up, and returns how it ended. */
    failToStart: async (more: Record<string, string>) => {
      const running = await startProcess({
        name: 'delivery',
        entry: ENTRY,
        env: environment(more),
      });
      const { code } = await running.exited;
      return { code, text: running.lines().join('\n') };
    },
    receiver: async (handler?: ReceiverHandler): Promise<WebhookReceiver> => {
      const started = await startReceiver(handler);
      cleanups.push(() => started.stop());
      return started;
    },
    /** A process whose LISTEN connection can be made to carry nothing, with nobody told. */
    startBehindProxy: async (more?: Record<string, string>) => {
      const proxy = await startTcpProxy({ targetPort: Number(new URL(database.url).port) });
      cleanups.push(() => proxy.stop());
      const listenUrl = proxy.urlFor(database.url);
      const delivery = await startDelivery({ GHOST_LISTEN_DATABASE_URL: listenUrl, ...more });
      const deafen = () => {
        for (const connection of proxy.connections()) connection.blackHole();
      };
      return { delivery, deafen };
    },
    allDelivered: () =>
      waitUntil(
        async () => {
          const jobs = await seed.jobs();
          return jobs.length > 0 && jobs.every(({ status }) => status === 'delivered');
        },
        { what: 'all jobs to be delivered' },
      ),
    /** Connections of the process whose last statement is over: it has looked and found nothing. */
    claimsSeen: async () => {
      const { rows } = await seed.pool.query<{ seen: number }>(
        `SELECT count(*)::integer AS seen FROM pg_stat_activity
         WHERE application_name = 'ghost delivery' AND state = 'idle' AND query LIKE '%delivery_next_due%'`,
      );
      return rows[0]?.seen ?? 0;
    },
  };
}
