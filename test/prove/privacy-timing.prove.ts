import { Agent } from 'node:http';
import type { Pool } from '@ghost/db';

import {
  addPerson,
  openThreads,
  type ProofRow,
  startProofApi,
  startProofDatabase,
} from '../support/proof-world.js';
import { type Stops, withStops } from '../support/stops.js';
import { timedRequest } from '../support/timed-request.js';

export const name = 'The time of an answer does not tell a private repository from none';

const TRIES = 1000;
const WARM_UP_TRIES = 200;
/** So many that the planner walks indexes, as in earnest. */
const OTHERS = 2000;
/** With 1,000 tries each, chance alone stays within ±0.04 in 998 of 1,000 runs. */
const AUC_BOUNDS = { least: 0.45, most: 0.55 };

/** What is asked for, by names of one length: they are in the request. */
const PLACES = {
  private: 'owner/hidden',
  absent: 'owner/absent',
  'absent owner': 'nobod/absent',
} as const;
type Place = keyof typeof PLACES;
const EACH_PLACE = Object.keys(PLACES) as Place[];

interface Question {
  what: string;
  method: 'GET' | 'POST';
  below: string;
  by: 'stranger' | 'nobody';
  body?: string;
}

const QUESTIONS: readonly Question[] = [
  { what: 'GET a repository', method: 'GET', below: '', by: 'stranger' },
  { what: 'GET a thread', method: 'GET', below: '/threads/1', by: 'stranger' },
  {
    what: 'POST a comment',
    method: 'POST',
    below: '/threads/1/comments',
    by: 'stranger',
    body: JSON.stringify({ body: 'Is anybody there?' }),
  },
  { what: 'GET a repository without a token', method: 'GET', below: '', by: 'nobody' },
];

interface World {
  url: string;
  agent: Agent;
  token: string;
}

/** Asks for each place as often, in random order, on one connection of a real process. */
export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const world = await start(stops);
    for (const question of QUESTIONS) {
      await ask(world, question, WARM_UP_TRIES);
      const took = await ask(world, question, TRIES);
      yield row(`${question.what}: private or absent`, auc(took.private, took.absent));
      yield row(
        `${question.what}: of an absent owner or absent`,
        auc(took['absent owner'], took.absent),
      );
    }
  });
}

/**
 * How often a value of the one is greater than one of the other, ties half: the area under the ROC curve,
 * which is Mann and Whitney's U over both counts. 0.5: the values tell nothing.
 */
function auc(one: readonly number[], other: readonly number[]): number {
  const all = [
    ...one.map((value) => ({ value, ofOne: true })),
    ...other.map((value) => ({ value, ofOne: false })),
  ].sort((a, b) => a.value - b.value);
  let ranks = 0;
  for (let from = 0; from < all.length; ) {
    let to = from;
    while (to < all.length && all[to]?.value === all[from]?.value) to += 1;
    const rank = (from + 1 + to) / 2;
    for (const { ofOne } of all.slice(from, to)) if (ofOne) ranks += rank;
    from = to;
  }
  return (ranks - (one.length * (one.length + 1)) / 2) / (one.length * other.length);
}

function row(what: string, figure: number): ProofRow {
  const { least, most } = AUC_BOUNDS;
  return {
    what: `AUC, ${what}`,
    figure: figure.toFixed(3),
    bound: `${least}–${most}`,
    ok: figure >= least && figure <= most,
  };
}

/** Milliseconds of each try. */
async function ask(
  world: World,
  question: Question,
  tries: number,
): Promise<Record<Place, number[]>> {
  const took: Record<Place, number[]> = { private: [], absent: [], 'absent owner': [] };
  const order = shuffled(EACH_PLACE.flatMap((place) => Array.from({ length: tries }, () => place)));
  for (const place of order) took[place].push(await time(world, question, PLACES[place]));
  return took;
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, key: Math.random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

function time({ url, agent, token }: World, question: Question, place: string): Promise<number> {
  const { method, below, by, body } = question;
  return timedRequest({
    method,
    url: `${url}/api/repos/${place}${below}`,
    agent,
    token: by === 'stranger' ? token : undefined,
    body,
    status: 404,
  });
}

async function start(stops: Stops): Promise<World> {
  const { url: databaseUrl, pool } = await startProofDatabase(stops);
  await addPerson(pool, 'owner');
  const token = await addPerson(pool, 'stranger');
  await fill(pool);
  const { url } = await startProofApi(stops, databaseUrl);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  stops.add(() => agent.destroy());
  return { url, agent, token };
}

/** The private repository with a thread and members, among many others. */
async function fill(pool: Pool): Promise<void> {
  await pool.query(
    `INSERT INTO account (login, name) SELECT 'other-' || n, 'Other ' || n FROM generate_series(1, $1::int) n`,
    [OTHERS],
  );
  await pool.query(
    `INSERT INTO repository (owner_id, name, private) SELECT id, 'hidden', true FROM account WHERE login <> 'stranger'`,
  );
  await openThreads(pool, 'Secret');
  await pool.query(
    `INSERT INTO member (repository_id, account_id, permission)
     SELECT r.id, a.id, 'write' FROM repository r, account a WHERE a.login LIKE 'other-1%' AND r.id % 100 = 1`,
  );
  await pool.query('VACUUM ANALYZE');
}
