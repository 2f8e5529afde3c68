import { randomBytes } from 'node:crypto';
import type { Pool } from '@ghost/db';
import { addAccount } from '@ghost/operations';
import { readSettings } from '@ghost/settings';
import type { Logger } from 'pino';
import { createApi, type RunningApi } from '../../apps/api/src/create-api.js';
import { type AnswerCheck, answerCheck, type ApiDocumentation } from './answer-check.js';
import { createTestDatabase, type TestDatabase } from './test-database.js';
import { waitUntil } from './wait-until.js';

export const PUBLIC_URL = 'https://ghost.example';
const POOL_SIZE = 3;

// Tests look into answers of every shape; a wrong look fails the test by itself.
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON, or undefined when there was no body. */
  readonly body: Json;
}

/** An account with a token. */
export interface Person {
  readonly id: number;
  readonly login: string;
  readonly token: string;
  /**
   * Asks the API: `path` follows `/api`, `body` becomes JSON. Rejects when the answer is not what the
   * OpenAPI document declares for it.
   */
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
}

export interface TestApi {
  readonly url: string;
  readonly api: RunningApi;
  readonly database: TestDatabase;
  /** For looking at what was written. */
  readonly pool: Pool;
  addPerson(login: string): Promise<Person>;
  /** The payloads of the events of a type, oldest first. */
  eventsOf(type: string): Promise<Json[]>;
  /** Waits until the API waits for a lock to lock a repository; returns the pid of its server process. */
  waitUntilBlocked(): Promise<number>;
  stop(): Promise<void>;
}

export interface TestApiOptions {
  /** More of the environment, such as `GHOST_ALLOW_CIDRS`. */
  readonly env?: Readonly<Record<string, string>>;
  readonly logger?: Logger;
  readonly instrument?: (instance: unknown) => unknown;
  /** Where the API finds the database, for a proxy in between. */
  readonly databaseUrl?: (url: string) => string | Promise<string>;
}

/** Starts the whole API in this process, on a free port and an empty database of its own. */
export async function startTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const database = await createTestDatabase();
  const { databaseUrl = (url: string) => url, logger, instrument } = options;
  const settings = readSettings(
    {
      DATABASE_URL: await databaseUrl(database.url),
      PORT: '0',
      GHOST_PUBLIC_URL: PUBLIC_URL,
      GHOST_SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
      GHOST_MAIL_FROM: 'Ghost <noreply@ghost.example>',
      LOG_LEVEL: 'silent',
      GHOST_RATE_LIMIT: '0',
      GHOST_RATE_LIMIT_ANONYMOUS: '0',
      ...options.env,
    },
    'api',
  );
  const api = await createApi({
    settings,
    ...(logger === undefined ? {} : { logger }),
    ...(instrument === undefined ? {} : { instrument }),
  });
  const pool = database.pool(POOL_SIZE);
  let checking: Promise<AnswerCheck> | undefined;
  const check = () => (checking ??= documentedCheck(api.url));
  return {
    url: api.url,
    api,
    database,
    pool,
    addPerson: async (login) => {
      const added = await addAccount(pool, { login, email: `${login}@people.example` });
      return {
        ...added,
        ask: async (method, path, body, headers) => {
          const answer = await ask(api.url, added.token, method, path, body, headers);
          (await check())(method, `/api${path}`, answer);
          return answer;
        },
      };
    },
    eventsOf: async (type) => {
      const { rows } = await pool.query<{ payload: unknown }>(
        'SELECT payload FROM outbox_event WHERE type = $1 ORDER BY created_at, id',
        [type],
      );
      return rows.map((row) => row.payload);
    },
    waitUntilBlocked: () =>
      waitUntil(
        async () => {
          const { rows } = await pool.query<{ pid: number }>(
            `SELECT pid FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'ghost api'
               AND wait_event_type = 'Lock' AND query LIKE '%"repository"%for no key update'`,
          );
          return rows[0]?.pid;
        },
        { what: 'the API to wait for the lock on a repository' },
      ),
    stop: async () => {
      await api.close();
      await database.drop();
    },
  };
}

async function ask(
  url: string,
  token: string,
  method: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer & { text: string }> {
  const response = await fetch(`${url}/api${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text === '' ? undefined : JSON.parse(text),
  };
}

/** Made from the served document, once for each API that is started: 15 ms. */
async function documentedCheck(url: string): Promise<AnswerCheck> {
  const response = await fetch(`${url}/api/openapi.json`);
  if (!response.ok) throw new Error(`The API serves no document: ${response.status}`);
  return answerCheck((await response.json()) as ApiDocumentation);
}
