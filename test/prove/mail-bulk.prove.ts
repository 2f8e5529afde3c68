import { setTimeout as delay } from 'node:timers/promises';

import type { Pool } from '@ghost/db';

import { addMails, addReaders, type Reader } from '../support/load/add-jobs.js';
import type { Timing } from '../support/load/light-load.js';
import { describeTimings, startLoadWorld } from '../support/load/load-world.js';
import { openLoop } from '../support/load/open-loop.js';
import { startMailCatcher } from '../support/mail-catcher.js';
import { progress } from '../support/progress.js';
import type { ProofRow } from '../support/proof-world.js';
import { quantile } from '../support/quantile.js';
import { type Stops, withStops } from '../support/stops.js';
import { waitUntil } from '../support/wait-until.js';

export const name = 'A mail to 100,000 readers, sent at the relay’s pace, delays nobody else’s';

const BULK_READERS = 100_000;
/** The readers are of the first so many; others have their mail to all, and to one more. */
const BULK_DOMAINS = 50;
const READERS_A_COMMIT = 1_000;
/** What the relay takes for a mail: with the ten connections of a process 200 a second. */
const RELAY_MS = 50;
/** In turns, so that whatever else the machine does hits both alike. */
const ROUNDS = 6;
const ROUND_MS = 8_000;
const EACH_PER_SECOND = 12;
const LIGHT_WITHIN_MS = 60_000;
/** What was claimed is sent by then. */
const REST_MS = 1_500;
const RATIO_BOUND = 2;
/** Half of the relay is theirs, 100 a second; some of it is lost between two claims. */
const LEAST_BULK_PER_SECOND = 50;

/** Whose mails: to a domain that has many of the readers, and to one that has none. */
type Kind = 'shared' | 'other';
type Seen = Record<Kind, Timing[]>;

interface World {
  pool: Pool;
  /** When each mail was taken, by its job's id. */
  taken: ReadonlyMap<string, number>;
  readers: Readonly<Record<Kind, readonly Reader[]>>;
}

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const { world, bulk } = await start(stops);
    // Lanes earn their slots.
    await light(world, ROUND_MS);
    const startedAt = performance.now();
    for (let from = 0; from < bulk.length; from += READERS_A_COMMIT) {
      await addMails(world.pool, bulk.slice(from, from + READERS_A_COMMIT), true);
    }
    progress(`enqueued in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
    const alone: Seen = { shared: [], other: [] };
    const beside: Seen = { shared: [], other: [] };
    let sent = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      await setBulk(world.pool, 'held');
      add(alone, await light(world, ROUND_MS));
      await setBulk(world.pool, 'open');
      const before = world.taken.size;
      const lights = await light(world, ROUND_MS);
      sent += world.taken.size - before - lights.shared.length - lights.other.length;
      add(beside, lights);
    }
    yield* judge(alone, beside);
    const perSecond = (sent / (ROUNDS * ROUND_MS)) * 1_000;
    yield {
      what: 'of those 100,000 sent a second meanwhile',
      figure: perSecond.toFixed(0),
      bound: `≥ ${LEAST_BULK_PER_SECOND}`,
      ok: perSecond >= LEAST_BULK_PER_SECOND,
    };
  });
}

/**
 * Not the 99th of a hundred: a connection carries 100 mails, and the relay greets the next one 100 ms late (smtp-server), so that
 * one mail in a hundred waits for that, with bulk mail or without.
 */
function p95(timings: readonly Timing[]): number {
  return quantile(
    timings.map(({ tookMs }) => tookMs),
    0.95,
  );
}

function* judge(alone: Seen, beside: Seen): Generator<ProofRow> {
  const kinds: [Kind, string][] = [
    ['shared', 'to a domain that has many of the readers'],
    ['other', 'to a domain that has none'],
  ];
  for (const [kind, what] of kinds) {
    progress(`${what}: alone ${describeTimings(alone[kind])}`);
    progress(`${what}: beside ${describeTimings(beside[kind])}`);
    const ratio = p95(beside[kind]) / p95(alone[kind]);
    yield {
      what: `others’ mails ${what}, commit to relay, p95 to p95`,
      figure: `${ratio.toFixed(2)} × ${p95(alone[kind]).toFixed(0)} ms`,
      bound: `≤ ${RATIO_BOUND} ×`,
      ok: ratio <= RATIO_BOUND,
    };
  }
}

async function start(stops: Stops): Promise<{ world: World; bulk: readonly Reader[] }> {
  const taken = new Map<string, number>();
  const relay = await startMailCatcher({
    keep: false,
    onData: async ({ raw }) => {
      await delay(RELAY_MS);
      const id = /^message-id:\s*<([^@]+)@/imu.exec(raw.toString('latin1'))?.[1] ?? '';
      taken.set(id, Date.now());
      return undefined;
    },
  });
  stops.add(() => relay.stop());
  const { pool } = await startLoadWorld(stops, { GHOST_SMTP_URL: relay.url });
  const all = await addReaders(pool, BULK_READERS + BULK_DOMAINS + 1, BULK_DOMAINS + 1);
  const domainOf = ({ address }: Reader) => Number(/@mail(\d+)\./u.exec(address)?.[1]);
  const bulk = all.filter((reader) => domainOf(reader) < BULK_DOMAINS);
  const shared = Array.from(
    { length: BULK_DOMAINS },
    (_, n) => bulk.filter((reader) => domainOf(reader) === n)[0],
  );
  const readers = {
    shared: shared.filter((reader) => reader !== undefined),
    other: all.filter((reader) => domainOf(reader) === BULK_DOMAINS).slice(0, 1),
  };
  return { world: { pool, taken, readers }, bulk };
}

/** Enqueues mails of others at a steady pace, one a commit, to both kinds of domains; the times from commit to the relay's word. */
async function light({ pool, taken, readers }: World, forMs: number): Promise<Seen> {
  const committed = { shared: new Map<string, number>(), other: new Map<string, number>() };
  const startedAt = Date.now();
  await openLoop(2 * EACH_PER_SECOND, forMs, async (n) => {
    const kind = n % 2 === 0 ? 'shared' : 'other';
    const reader = readers[kind][(n >> 1) % readers[kind].length];
    if (reader === undefined) throw new Error('No readers');
    const [id = ''] = await addMails(pool, [reader]);
    committed[kind].set(id, Date.now());
  });
  const ids = [...committed.shared.keys(), ...committed.other.keys()];
  await waitUntil(() => ids.every((id) => taken.has(id)), {
    timeoutMs: LIGHT_WITHIN_MS,
    everyMs: 100,
    what: 'the mails of others',
  });
  const timings = (all: ReadonlyMap<string, number>) =>
    [...all].map(([id, at]) => ({
      tookMs: (taken.get(id) ?? Number.POSITIVE_INFINITY) - at,
      atMs: at - startedAt,
    }));
  return { shared: timings(committed.shared), other: timings(committed.other) };
}

/** As an operator would. Locks in order first, as everybody does. */
async function setBulk(pool: Pool, state: 'held' | 'open'): Promise<void> {
  const change =
    state === 'held'
      ? `next_at = 'infinity', held_reason = 'proof', held_at = now()`
      : 'next_at = now(), held_reason = NULL, held_at = NULL, "full" = false';
  await pool.query(
    `WITH locked AS MATERIALIZED (
       SELECT lane, version FROM delivery_lane WHERE lane LIKE 'mail:%:bulk' ORDER BY lane, version FOR UPDATE
     )
     UPDATE delivery_lane d SET ${change} FROM locked l WHERE d.lane = l.lane AND d.version = l.version`,
  );
  await pool.query(`SELECT pg_notify('ghost_delivery', '')`);
  await delay(REST_MS);
}

function add(to: Seen, more: Seen): void {
  to.shared.push(...more.shared);
  to.other.push(...more.other);
}
