import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createPool, migrate, type Pool } from '@ghost/db';
import { addAccount } from '@ghost/operations';
import { startPostgres } from '@ghost/playground/postgres';

import { type ApiClient, apiClient } from '../support/api-client.js';
import { freePort, startApi, testEnvironment } from '../support/ghost-processes.js';
import { type ParallelComments, postInParallel } from '../support/parallel-comments.js';

export const name = '20 accounts post 200 comments to one thread at once: each is there, and soon';

const ACCOUNTS = 20;
const COMMENTS_EACH = 10;
const COMMENTS = ACCOUNTS * COMMENTS_EACH;
/** The first warms up, and is judged by what is stored alone. */
const ROUNDS = 7;
const P99_BOUND_MS = 250;

interface Row {
  what: string;
  figure: string;
  bound: string;
  ok: boolean;
}

/** Over a real API process and a durable server, with fan-out under way as always. */
export async function* run(): AsyncGenerator<Row> {
  const stops: (() => Promise<unknown>)[] = [];
  try {
    const clients = await start(stops);
    yield* judge('each posts one after the other', clients, false);
    // 200 requests in flight wait for each other's commits: told, and judged by what is stored.
    yield* judge('all 200 are sent at the same moment', clients, true);
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

async function* judge(
  how: string,
  clients: readonly ApiClient[],
  burst: boolean,
): AsyncGenerator<Row> {
  const rounds: ParallelComments[] = [];
  for (let n = 0; n < ROUNDS; n += 1) {
    const thread = await openThread(clients[0] as ApiClient);
    rounds.push(await postInParallel(clients, thread, COMMENTS_EACH, burst));
  }
  const lost = rounds.flatMap((round) => round.lost);
  yield {
    what: `${how}: comments lost in ${ROUNDS} rounds`,
    figure: `${lost.length} of ${ROUNDS * COMMENTS}`,
    bound: '0',
    ok: lost.length === 0 && rounds.every((round) => round.listed.length === COMMENTS),
  };
  const broken = rounds.filter((round) => !isWithoutGaps(round));
  yield {
    what: 'rounds whose numbers have gaps or repeats',
    figure: String(broken.length),
    bound: '0',
    ok: broken.length === 0,
  };
  const p99 = rounds.slice(1).map((round) => quantile(round.tookMs, 0.99));
  const p50 = rounds.slice(1).map((round) => quantile(round.tookMs, 0.5));
  const middle = quantile(p99, 0.5);
  yield {
    what: 'time to the answer, p99 (median of the rounds)',
    figure: `${middle.toFixed(0)} ms (${p99.map((ms) => ms.toFixed(0)).join(', ')}; p50 ${quantile(p50, 0.5).toFixed(0)} ms)`,
    bound: burst ? 'told, no bound' : `≤ ${P99_BOUND_MS} ms`,
    ok: burst || middle <= P99_BOUND_MS,
  };
}

function isWithoutGaps({ numbers, listed }: ParallelComments): boolean {
  return [numbers, listed].every((all) => all.every((number, n) => number === n + 1));
}

async function start(stops: (() => Promise<unknown>)[]): Promise<ApiClient[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'ghost-prove-'));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  const postgres = await startPostgres({ dataDir: path.join(folder, 'postgres') });
  stops.push(() => postgres.stop());
  await migrate(postgres.url);
  const tokens = await addAccounts(postgres.url);
  const port = await freePort();
  const api = await startApi(port, testEnvironment(postgres.url));
  stops.push(() => api.stop());
  const clients = tokens.map((token) => apiClient(`http://127.0.0.1:${port}`, token));
  const [owner] = clients;
  await owner?.expect(201, 'POST', '/user/repos', { name: 'busy', private: false });
  return clients;
}

async function addAccounts(url: string): Promise<string[]> {
  const pool: Pool = createPool({
    connectionString: url,
    name: 'proof',
    max: 1,
    onError: () => undefined,
  });
  try {
    const tokens: string[] = [];
    for (let n = 0; n < ACCOUNTS; n += 1) {
      const account = { login: `person-${n}`, email: `person-${n}@people.example` };
      tokens.push((await addAccount(pool, account)).token);
    }
    return tokens;
  } finally {
    await pool.end();
  }
}

async function openThread(owner: ApiClient): Promise<string> {
  const threads = '/repos/person-0/busy/threads';
  const { number } = await owner.expect<{ number: number }>(201, 'POST', threads, {
    title: 'All at once',
  });
  return `${threads}/${number}`;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}
