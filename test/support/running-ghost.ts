import type { Pool } from '@ghost/db';
import { addAccount } from '@ghost/operations';
import { onTestFinished } from 'vitest';

import { type ApiClient, apiClient } from './api-client.js';
import { freePort, startApi, startDelivery, testEnvironment } from './ghost-processes.js';
import { type MailCatcher, startMailCatcher } from './mail-catcher.js';
import type { RunningProcess } from './processes.js';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';
import { createTestDatabase } from './test-database.js';
import { waitUntil } from './wait-until.js';

/** API and delivery as real processes on a database of their own, which they reach through a proxy. */
export interface RunningGhost {
  pool: Pool;
  proxy: TcpProxy;
  mails: MailCatcher;
  api: RunningProcess;
  delivery: RunningProcess;
  apiUrl: string;
  env: Readonly<Record<string, string>>;
  deliveryPort: number;
  /** Makes an account and a client with its token. */
  person(login: string): Promise<ApiClient>;
  /** Until every event was handed on and every job ended. */
  settled(timeoutMs?: number): Promise<void>;
}

/**
 * Starts all of it; it ends with the test.
 * @param pooler - makes what stands before the database, but for LISTEN; gives its URL there
 */
export async function startGhost(
  more: Readonly<Record<string, string>> = {},
  pooler?: (databaseUrl: string) => Promise<string>,
): Promise<RunningGhost> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const pool = database.pool(3);
  const proxy = await startTcpProxy({ targetPort: Number(new URL(database.url).port) });
  onTestFinished(() => proxy.stop());
  const mails = await startMailCatcher();
  onTestFinished(() => mails.stop());
  const [apiPort, deliveryPort] = [await freePort(), await freePort()];
  const direct = proxy.urlFor(database.url);
  const env = testEnvironment(pooler ? await pooler(direct) : direct, {
    ...(pooler ? { GHOST_LISTEN_DATABASE_URL: direct } : {}),
    GHOST_SMTP_URL: mails.url,
    GHOST_RETRY_BASE_MS: '50',
    GHOST_RETRY_CAP_MS: '500',
    GHOST_OUTBOX_RETRY_BASE_MS: '50',
    ...more,
  });
  const [api, delivery] = await Promise.all([
    startApi(apiPort, env),
    startDelivery(deliveryPort, env),
  ]);
  const apiUrl = `http://127.0.0.1:${apiPort}`;
  return {
    pool,
    proxy,
    mails,
    api,
    delivery,
    apiUrl,
    env,
    deliveryPort,
    async person(login) {
      const { token } = await addAccount(pool, { login, email: `${login}@readers.example` });
      return apiClient(apiUrl, token);
    },
    async settled(timeoutMs = 20_000) {
      await waitUntil(() => isSettled(pool), {
        timeoutMs,
        what: 'every event and job to be finished',
      });
    },
  };
}

async function isSettled(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ open: boolean }>(
    `SELECT EXISTS (SELECT FROM outbox_progress WHERE done_at IS NULL AND set_aside_at IS NULL)
       OR EXISTS (SELECT FROM delivery_job WHERE status = 'pending') AS open`,
  );
  return rows[0]?.open === false;
}
