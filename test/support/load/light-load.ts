import { Agent } from 'node:http';

import type { Pool } from '@ghost/db';

import type { MailCatcher } from '../mail-catcher.js';
import { addPerson, openThreads } from '../proof-world.js';
import type { Stops } from '../stops.js';
import { timedRequest } from '../timed-request.js';
import { waitUntil } from '../wait-until.js';
import { addJobs, addMails, type Reader } from './add-jobs.js';
import { openLoop } from './open-loop.js';
import type { LoadReceiver } from './receiver.js';

/** What came in late is waited for: a job that is never sent must not be left out of the figures. */
const LATEST_MS = 30_000;

/** How long each took, in milliseconds, and when it began after the start of the load. */
export interface Timing {
  tookMs: number;
  atMs: number;
}

export interface LightLoad {
  pool: Pool;
  receiver: LoadReceiver;
  hookIds: readonly number[];
  perSecond: number;
}

/** Enqueues webhooks at a steady pace, one a commit; the times from commit to receipt. */
export async function lightWebhooks(load: LightLoad, forMs: number): Promise<Timing[]> {
  const { pool, receiver, hookIds, perSecond } = load;
  const committed = new Map<string, number>();
  const startedAt = Date.now();
  await openLoop(perSecond, forMs, async (n) => {
    const [id = ''] = await addJobs(pool, [hookIds[n % hookIds.length] ?? 0]);
    committed.set(id, Date.now());
  });
  let received = new Map<string, number>();
  await waitUntil(
    async () => {
      const { arrivals } = await receiver.report();
      received = new Map(arrivals.map(([id, , at]) => [id, at]));
      return [...committed.keys()].every((id) => received.has(id)) || late(startedAt, forMs);
    },
    { timeoutMs: 2 * LATEST_MS, everyMs: 250, what: 'the light webhooks' },
  );
  return timings(committed, received, startedAt);
}

/** Enqueues mails likewise; the times from commit to the end of the mail at its catcher. */
export async function lightMails(
  load: { pool: Pool; mails: MailCatcher; readers: readonly Reader[]; perSecond: number },
  forMs: number,
): Promise<Timing[]> {
  const { pool, mails, readers, perSecond } = load;
  const committed = new Map<string, number>();
  const startedAt = Date.now();
  const from = mails.mails().length;
  await openLoop(perSecond, forMs, async (n) => {
    const reader = readers[n % readers.length];
    if (reader === undefined) throw new Error('No readers');
    const [id = ''] = await addMails(pool, [reader]);
    committed.set(id, Date.now());
  });
  const came = () => mails.mails().length - from;
  await waitUntil(() => came() >= committed.size || late(startedAt, forMs), {
    timeoutMs: 2 * LATEST_MS,
    everyMs: 100,
    what: 'the light mails',
  });
  const received = new Map(
    mails
      .mails()
      .slice(from)
      .map(({ raw, at }) => [
        /^message-id:\s*<([^@]+)@/imu.exec(raw.toString('latin1'))?.[1] ?? '',
        at.getTime(),
      ]),
  );
  return timings(committed, received, startedAt);
}

/** Posts a comment; the milliseconds to the end of the answer. */
export type Poster = () => Promise<number>;

/** Somebody's thread, which nobody watches but its author and no hook listens to. */
export async function createPoster(stops: Stops, pool: Pool, apiUrl: string): Promise<Poster> {
  const token = await addPerson(pool, 'poster');
  await pool.query(
    `INSERT INTO repository (owner_id, name) SELECT id, 'quiet' FROM account WHERE login = 'poster'`,
  );
  await openThreads(pool, 'How long does a comment take?');
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  stops.add(() => agent.destroy());
  return () =>
    timedRequest({
      method: 'POST',
      url: `${apiUrl}/api/repos/poster/quiet/threads/1/comments`,
      agent,
      token,
      body: JSON.stringify({ body: 'How long does this comment take?' }),
      status: 201,
    });
}

export async function postComments(
  post: Poster,
  perSecond: number,
  forMs: number,
): Promise<Timing[]> {
  const took: Timing[] = [];
  const startedAt = Date.now();
  await openLoop(perSecond, forMs, async () => {
    const atMs = Date.now() - startedAt;
    took.push({ tookMs: await post(), atMs });
  });
  return took;
}

function timings(
  committed: ReadonlyMap<string, number>,
  received: ReadonlyMap<string, number>,
  startedAt: number,
): Timing[] {
  return Array.from(committed, ([id, at]) => ({
    tookMs: Math.max(0, (received.get(id) ?? Number.POSITIVE_INFINITY) - at),
    atMs: at - startedAt,
  }));
}

function late(startedAt: number, forMs: number): boolean {
  return Date.now() - startedAt > forMs + LATEST_MS;
}
