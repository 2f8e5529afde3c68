import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { type ApiClient, apiClient } from '../support/api-client.js';
import { createDeliverySeed } from '../support/delivery-seed.js';
import { addEnded } from '../support/ended-deliveries.js';
import { freePort, startApi, testEnvironment } from '../support/ghost-processes.js';
import { startWorker } from '../support/load/load-world.js';
import type { RunningProcess } from '../support/processes.js';
import { progress } from '../support/progress.js';
import {
  addPerson,
  type ProofDatabase,
  type ProofRow,
  row,
  startProofDatabase,
} from '../support/proof-world.js';
import { quantile } from '../support/quantile.js';
import { LiveEvents, Receipts, ReplayWatch } from '../support/replay-proof.js';
import { type Stops, withStops } from '../support/stops.js';
import { waitUntil } from '../support/wait-until.js';

export const name =
  '50,000 failed deliveries are replayed, with both processes killed twice on the way: each is sent as it was, and nothing else';

const FAILED = 50_000;
/** Of the same hook: before the time that is asked for, and after the start. */
const TOO_EARLY = 1_000;
const TOO_LATE = 500;
const OTHER_HOOKS = 5;
const FAILED_OF_OTHERS = 2_000;
const KILL_AT = [0.25, 0.6] as const;
const DOWN_MS = 1_500;
const LEASE_MS = 5_000;
const LIVE_EVERY_MS = 100;
const LOOK_EVERY_MS = 150;
/** As many as may be pending untried (`MOST_AHEAD`). */
const MOST_PENDING = 500;
const LIVE_BOUND_MS = 3_000;
const WITHIN_MS = 10 * 60_000;

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const world = await start(stops);
    const { pool, client, hook, failed, untouched } = world;
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const { total, until } = await client.expect<{ total: number; until: string }>(
      ...([200, 'GET', `${hook}/replays/preview?since=${since}`] as const),
    );
    const wanted = { since, until, expected_total: total };
    const { id } = await client.expect<{ id: number }>(202, 'POST', `${hook}/replays`, wanted);
    const startedAt = performance.now();
    untouched.push(...(await addEnded(pool, world.hookId, { deliveries: TOO_LATE })));

    const watch = new ReplayWatch(client, `${hook}/replays/${id}`, LOOK_EVERY_MS);
    const live = new LiveEvents(pool, world.hookId, LIVE_EVERY_MS);
    stops.add(() => Promise.all([watch.stop(), live.stop()]));
    const inHand: string[] = [];
    for (const share of KILL_AT) {
      await untilTrue(
        () => (watch.last?.progress.delivered ?? 0) >= share * FAILED,
        `${share * 100} %`,
      );
      progress(`killed at ${JSON.stringify(watch.last?.progress)}`);
      inHand.push(...(await world.killBoth(live)));
    }
    await untilTrue(() => watch.last?.ended_at != null, 'the replay to end');
    const tookS = (performance.now() - startedAt) / 1000;
    await live.stop();
    await untilTrue(() => live.waiting(world.receipts) === 0, 'live events to arrive');
    await watch.stop();
    progress(`ended at ${JSON.stringify(watch.last?.progress)}`);

    const { receipts } = world;
    const outcome = watch.last?.progress;
    yield row(
      'preview, and delivered by the replay',
      `${total}, ${outcome?.delivered}`,
      `${FAILED}`,
      total === FAILED && outcome?.delivered === FAILED,
    );
    const missing = failed.filter((one) => receipts.count(one) === 0).length;
    yield row('failed deliveries that did not arrive', String(missing), '0', missing === 0);
    const repeats = failed.filter((one) => receipts.count(one) > 1);
    const unexplained = repeats.filter((one) => !inHand.includes(one)).length;
    yield row(
      'sent more than once; of those, not in hand at a kill',
      `${repeats.length}; ${unexplained}`,
      `≤ ${inHand.length} in hand at the kills; 0`,
      unexplained === 0,
    );
    const differing = await countDiffering(world);
    yield row('bodies that are not the first one’s bytes', String(differing), '0', differing === 0);
    const unmarked = failed.filter((one) => !receipts.marked(one)).length;
    yield row('without x-ghost-redelivery', String(unmarked), '0', unmarked === 0);
    const touched = await countTouched(world);
    yield row(
      `others’ failures, earlier and later ones (${untouched.length}) that changed or were sent`,
      String(touched),
      '0',
      touched === 0,
    );
    yield row(
      `looks at the progress (${watch.looks}) that were untrue`,
      watch.faults.length === 0 ? '0' : watch.faults.slice(0, 3).join('; '),
      '0',
      watch.faults.length === 0 && watch.looks > 50,
    );
    yield row(
      'most of it pending at once',
      String(watch.mostPending),
      `≤ ${MOST_PENDING}`,
      watch.mostPending <= MOST_PENDING,
    );
    const took = live.tookMs(receipts);
    yield row(
      `live events of the hook meanwhile (${took.length}): p50, p99`,
      `${quantile(took, 0.5).toFixed(0)}, ${quantile(took, 0.99).toFixed(0)} ms`,
      `p99 ≤ ${LIVE_BOUND_MS} ms`,
      took.length > 100 && quantile(took, 0.99) <= LIVE_BOUND_MS,
    );
    yield row(
      'how long it took, kills included',
      `${tookS.toFixed(0)} s, ${(FAILED / tookS).toFixed(0)}/s`,
      '≤ 600 s',
      tookS <= 600,
    );
  });
}

function untilTrue(fits: () => boolean, what: string): Promise<unknown> {
  return waitUntil(fits, { timeoutMs: WITHIN_MS, everyMs: 100, what });
}

interface World {
  pool: ProofDatabase['pool'];
  client: ApiClient;
  receipts: Receipts;
  hookId: number;
  /** Path of the hook. */
  hook: string;
  failed: string[];
  /** What nobody may touch. */
  untouched: string[];
  /** SIGKILL to API and delivery, and both again. @returns what delivery had in hand */
  killBoth(live: LiveEvents): Promise<string[]>;
}

async function start(stops: Stops): Promise<World> {
  const { url, pool } = await startProofDatabase(stops);
  const seed = await createDeliverySeed(url);
  stops.add(() => seed.close());
  const token = await addPerson(pool, 'ada');
  await pool.query(
    `INSERT INTO member (repository_id, account_id, permission)
     SELECT r.id, a.id, 'admin' FROM repository r, account a WHERE a.login = 'ada'`,
  );
  const receipts = await Receipts.start(stops);
  const hookId = await seed.hook(receipts.url);
  const failed = await addEnded(pool, hookId, { deliveries: FAILED });
  const untouched = await addEnded(pool, hookId, { deliveries: TOO_EARLY, minutesAgo: 120 });
  for (let n = 0; n < OTHER_HOOKS; n += 1) {
    const other = await seed.hook(receipts.url);
    untouched.push(...(await addEnded(pool, other, { deliveries: FAILED_OF_OTHERS })));
  }
  await pool.query('ANALYZE');
  const env = testEnvironment(url, { GHOST_LEASE_MS: String(LEASE_MS) });
  const port = await freePort();
  const running: RunningProcess[] = [];
  const startBoth = async () => {
    const api = await startApi(port, env);
    stops.add(() => api.stop());
    running.splice(0, 2, api, await startWorker(stops, url, { GHOST_LEASE_MS: String(LEASE_MS) }));
  };
  await startBoth();
  const leased = async () => {
    const { rows } = await pool.query<{ id: string }>(
      'SELECT id FROM delivery_job WHERE lease_until IS NOT NULL AND hook_id = $1',
      [hookId],
    );
    return rows.map(({ id }) => id);
  };
  return {
    ...{ pool, receipts, hookId, failed, untouched },
    client: apiClient(`http://127.0.0.1:${port}`, token),
    hook: `/repos/ghost/core/hooks/${hookId}`,
    killBoth: async (live) => {
      live.pause();
      await waitUntil(async () => (await leased()).length > 0, { what: 'delivery to send' });
      await Promise.all(running.map((one) => one.kill9()));
      const inHand = await leased();
      await delay(DOWN_MS);
      await startBoth();
      live.goOn();
      return inHand;
    },
  };
}

async function countDiffering({ pool, receipts, failed }: World): Promise<number> {
  const { rows } = await pool.query<{ id: string; body: string }>(
    'SELECT j.id, c.body FROM delivery_job j JOIN delivery_content c ON c.id = j.content_id WHERE j.id = ANY ($1)',
    [failed],
  );
  return rows.filter(({ id, body }) => {
    const hash = createHash('sha256').update(body).digest('hex');
    return receipts.hashes(id).some((one) => one !== hash);
  }).length;
}

/** By their numbers of then, and by what arrived. */
async function countTouched({ pool, receipts, untouched }: World): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT id FROM delivery_job WHERE id = ANY ($1) AND status = 'dead' AND lease_no = 16 AND NOT redelivery`,
    [untouched],
  );
  const sent = untouched.filter((id) => receipts.count(id) > 0).length;
  return untouched.length - rows.length + sent;
}
