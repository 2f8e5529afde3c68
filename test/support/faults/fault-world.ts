import { setTimeout as delay } from 'node:timers/promises';

import { createDeliverySeed, type DeliverySeed } from '../delivery-seed.js';
import { freePort, startDelivery, testEnvironment } from '../ghost-processes.js';
import type { RunningProcess } from '../processes.js';
import { type ProofDatabase, type ProofRow, startProofDatabase } from '../proof-world.js';
import type { Stops } from '../stops.js';
import { waitUntil } from '../wait-until.js';
import { type ReceiverAnswer, startReceiver, type WebhookReceiver } from '../webhook-receiver.js';

/** What befalls a real delivery process, and what came of it. */
export interface Fault {
  readonly name: string;
  run(stops: Stops): AsyncGenerator<ProofRow>;
}

/** A durable Postgres, a receiver whose calls are watched, and delivery processes. */
export interface FaultWorld {
  readonly database: ProofDatabase;
  readonly seed: DeliverySeed;
  readonly calls: Calls;
  /** Makes hooks of the receiver (or of another); each is a lane of its own. */
  hooks(count: number, url?: string): Promise<number[]>;
  /** Starts a delivery process whose lanes have one slot each, unless told otherwise. */
  deliver(more?: Readonly<Record<string, string>>): Promise<RunningProcess>;
  /** Waits until no job is pending. */
  settled(timeoutMs: number): Promise<void>;
  tally(): Promise<Tally>;
}

export interface Tally {
  delivered: number;
  dead: number;
  pending: number;
  /** The most attempts that a delivered job was charged. */
  mostAttempts: number;
  /** Jobs that have more than one attempt with an end in their history. */
  finishedTwice: number;
  released: number;
}

/** With it one owner's quarter of a process and one host's share are 50 calls at once. */
const CONCURRENCY = 200;

export async function startFaultWorld(stops: Stops): Promise<FaultWorld> {
  const database = await startProofDatabase(stops);
  const seed = await createDeliverySeed(database.url);
  stops.add(() => seed.close());
  const calls = await startCalls(stops);
  return {
    database,
    seed,
    calls,
    hooks: async (count, url = calls.receiver.url) => {
      const ids: number[] = [];
      for (let made = 0; made < count; made += 1) ids.push(await seed.hook(`${url}${made}`));
      return ids;
    },
    deliver: (more) => startWorker(stops, database.url, more),
    settled: async (timeoutMs) => {
      await waitUntil(async () => (await tally(seed)).pending === 0, {
        timeoutMs,
        everyMs: 100,
        what: 'every job to end',
      });
    },
    tally: () => tally(seed),
  };
}

/** A delivery process; its database may be reached through a proxy. */
export async function startWorker(
  stops: Stops,
  databaseUrl: string,
  more: Readonly<Record<string, string>> = {},
): Promise<RunningProcess> {
  const env = testEnvironment(databaseUrl, {
    GHOST_CONCURRENCY: String(CONCURRENCY),
    GHOST_LANE_CONCURRENCY: '1',
    GHOST_RETRY_BASE_MS: '200',
    GHOST_RETRY_CAP_MS: '1000',
    ...more,
  });
  const worker = await startDelivery(await freePort(), env);
  stops.add(() => worker.kill9());
  return worker;
}

/** The calls of a receiver: how many are open, whether they wait, and what was called twice. */
export interface Calls {
  readonly receiver: WebhookReceiver;
  /** Calls that have no answer yet. */
  open(): number;
  /** The most calls that one job had open at once. */
  mostAtOnce(): number;
  /** Jobs that were called more than once. */
  repeated(): number;
  /** From now on calls wait for their answer until `answer`. */
  hold(): void;
  /** Answers so many of the calls that wait (all when not said), and with `all` whatever comes. */
  answer(count?: number): void;
  /** From now on each call is answered after so long. */
  answerAfter(ms: number): void;
}

export async function startCalls(stops: Stops, host?: string): Promise<Calls> {
  const waiting: (() => void)[] = [];
  const openByJob = new Map<string, number>();
  let [held, afterMs, open, mostAtOnce] = [false, 0, 0, 0];
  const respond = async (): Promise<ReceiverAnswer> => {
    if (held) await new Promise<void>((resolve) => waiting.push(resolve));
    else if (afterMs > 0) await delay(afterMs);
    return 200;
  };
  const receiver = await startReceiver(async (request, response) => {
    const job = jobOf(request);
    const atOnce = (openByJob.get(job) ?? 0) + 1;
    openByJob.set(job, atOnce);
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    open += 1;
    // Its end, by an answer of ours or because the caller went away.
    response.once('close', () => {
      openByJob.set(job, (openByJob.get(job) ?? 1) - 1);
      open -= 1;
    });
    return respond();
  }, host);
  stops.add(() => receiver.stop());
  return {
    receiver,
    open: () => open,
    mostAtOnce: () => mostAtOnce,
    repeated: () => {
      const jobs = receiver.requests().map(jobOf);
      return new Set(jobs.filter((job, at) => jobs.indexOf(job) !== at)).size;
    },
    hold: () => {
      held = true;
    },
    answer: (count) => {
      if (count === undefined) held = false;
      for (const go of waiting.splice(0, count ?? waiting.length)) go();
    },
    answerAfter: (ms) => {
      afterMs = ms;
    },
  };
}

function jobOf({ headers }: { headers: Readonly<Record<string, unknown>> }): string {
  return String(headers['x-ghost-delivery']);
}

async function tally({ pool }: DeliverySeed): Promise<Tally> {
  const { rows } = await pool.query<Tally>(
    `SELECT count(*) FILTER (WHERE status = 'delivered')::int AS delivered,
       count(*) FILTER (WHERE status = 'dead')::int AS dead,
       count(*) FILTER (WHERE status = 'pending')::int AS pending,
       coalesce(max(attempts) FILTER (WHERE status = 'delivered'), 0)::int AS "mostAttempts",
       (SELECT count(*) FROM (
          SELECT FROM delivery_attempt WHERE outcome IN ('delivered', 'dead')
          GROUP BY job_id HAVING count(*) > 1) twice)::int AS "finishedTwice",
       count(*) FILTER (WHERE status = 'pending' AND lease_until IS NULL)::int AS released
     FROM delivery_job`,
  );
  const [found] = rows;
  if (!found) throw new Error('No tally');
  return found;
}

/** The JSON lines of a process with this event. */
export function logged(process: RunningProcess, event: string): Record<string, unknown>[] {
  return process
    .lines()
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line['event'] === event);
}

/** The row that each fault ends with: all came, nothing died, nothing was charged for the fault. */
export function nothingLost(fault: string, jobs: number, found: Tally): ProofRow {
  const { delivered, dead, pending, mostAttempts, finishedTwice } = found;
  return {
    what: `${fault}: delivered, dead, most charged, twice ended`,
    figure: `${delivered}, ${dead}, ${mostAttempts}, ${finishedTwice}`,
    bound: `${jobs}, 0, 1, 0`,
    ok:
      delivered === jobs &&
      dead === 0 &&
      pending === 0 &&
      mostAttempts === 1 &&
      finishedTwice === 0,
  };
}
