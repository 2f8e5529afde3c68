import { type ApiClient, apiClient } from '../support/api-client.js';
import { type ParallelComments, postInParallel } from '../support/parallel-comments.js';
import {
  addPerson,
  type ProofRow,
  startProofApi,
  startProofDatabase,
} from '../support/proof-world.js';
import { median, quantile } from '../support/quantile.js';
import { type Stops, withStops } from '../support/stops.js';

export const name = '20 accounts post 200 comments to one thread at once: each is there, and soon';

const ACCOUNTS = 20;
const COMMENTS_EACH = 10;
const COMMENTS = ACCOUNTS * COMMENTS_EACH;
/** The first warms up, and is judged by what is stored alone. */
const ROUNDS = 7;
const P99_BOUND_MS = 250;

/** Over a real API process and a durable server, with fan-out under way as always. */
export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const clients = await start(stops);
    yield* judge('each posts one after the other', clients, false);
    // 200 requests in flight wait for each other's commits: told, and judged by what is stored.
    yield* judge('all 200 are sent at the same moment', clients, true);
  });
}

async function* judge(
  how: string,
  clients: readonly ApiClient[],
  burst: boolean,
): AsyncGenerator<ProofRow> {
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
  const middle = median(p99);
  yield {
    what: 'time to the answer, p99 (median of the rounds)',
    figure: `${middle.toFixed(0)} ms (${p99.map((ms) => ms.toFixed(0)).join(', ')}; p50 ${median(p50).toFixed(0)} ms)`,
    bound: burst ? 'told, no bound' : `≤ ${P99_BOUND_MS} ms`,
    ok: burst || middle <= P99_BOUND_MS,
  };
}

function isWithoutGaps({ numbers, listed }: ParallelComments): boolean {
  return [numbers, listed].every((all) => all.every((number, n) => number === n + 1));
}

async function start(stops: Stops): Promise<ApiClient[]> {
  const { url: databaseUrl, pool } = await startProofDatabase(stops);
  const tokens: string[] = [];
  for (let n = 0; n < ACCOUNTS; n += 1) tokens.push(await addPerson(pool, `person-${n}`));
  const { url } = await startProofApi(stops, databaseUrl);
  const clients = tokens.map((token) => apiClient(url, token));
  const [owner] = clients;
  await owner?.expect(201, 'POST', '/user/repos', { name: 'busy', private: false });
  return clients;
}

async function openThread(owner: ApiClient): Promise<string> {
  const threads = '/repos/person-0/busy/threads';
  const { number } = await owner.expect<{ number: number }>(201, 'POST', threads, {
    title: 'All at once',
  });
  return `${threads}/${number}`;
}
