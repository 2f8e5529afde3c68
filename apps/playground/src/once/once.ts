import { setTimeout as delay } from 'node:timers/promises';

import type { Pool } from '@ghost/db';
import { explainEvent, progressOfEvents } from '@ghost/operations';

import { type Audience, findAudience } from './audience.js';
import { type Choices, findChoices } from './choices.js';
import { loadComments } from './comments.js';
import { type FoundHook, findHooks } from './hooks.js';
import type { ReadyRepository } from '../demo/demo-data.js';
import { numberIn } from '../demo/demo-data.js';
import { OWNER } from '../demo/demo-people.js';
import type { DemoComment } from './own-comments.js';
import type { Progress } from '../progress.js';
import type { Playground } from '../start/start-playground.js';
import { type Posted, type StoredContent, type Verdict, verifyEvent } from './verify.js';
import type { Witness } from '../catchers/witness.js';

/** The playground only looks on; this is how often. */
const LOOK_EVERY_MS = 200;
/** So often a comment goes to the private repository, whose readers are others. */
const PRIVATE_EVERY = 5;
const NO_CHOICES: Choices = new Map();

export interface OnceOptions {
  playground: Playground;
  witness: Witness;
  comments: number;
  timeoutMs: number;
  /** The folder whose READMEs are posted. */
  modules: string;
  progress: Progress;
  signal: AbortSignal;
}

export interface OnceResult extends Verdict {
  posted: number;
  seconds: number;
}

/** Posts comments over HTTP, waits for all that they become, and compares what was sent with what came. */
export async function runOnce(options: OnceOptions): Promise<OnceResult> {
  const { playground, progress } = options;
  const startedAt = performance.now();
  const posted = await postAll(options);
  const timedOut = await waitForAll(options, posted);
  progress.end();
  const result: OnceResult = { rows: [], faults: [], posted: posted.length, seconds: 0 };
  const contents = await findContents(playground.pool, posted);
  const choices = await findChoices(
    playground.pool,
    posted.map((one) => one.eventId),
  );
  for (const one of posted) {
    const explained = await explainEvent(playground.pool, one.eventId);
    if (!explained) {
      result.faults.push(`${one.name}: its event is not in the outbox`);
      continue;
    }
    const verdict = verifyEvent(one, {
      explained,
      contents,
      choices: choices.get(one.eventId) ?? NO_CHOICES,
      witness: options.witness,
      catchesMails: playground.catchesMails,
    });
    result.rows.push(...verdict.rows);
    result.faults.push(...verdict.faults);
  }
  if (timedOut) {
    result.faults.unshift(`not everything was delivered within ${options.timeoutMs / 1000} s`);
  }
  result.seconds = (performance.now() - startedAt) / 1000;
  return result;
}

async function postAll(options: OnceOptions): Promise<Posted[]> {
  const { playground, comments, modules, progress } = options;
  const [open, closed] = playground.demo.repositories;
  if (!open || !closed) throw new Error('The demo lacks a repository.');
  const texts = await loadComments(comments, modules);
  const opened = await openThread(playground, open, texts.at(-1));
  const posted = [opened.posted];
  const inOpen = await placeOf(playground, open, opened.thread);
  const inClosed = await placeOf(playground, closed, closed.thread);
  for (const [index, text] of texts.entries()) {
    progress.show(`Posting comments: ${index + 1} of ${texts.length}`);
    const secret = (index + 1) % PRIVATE_EVERY === 0;
    posted.push(await postComment(playground, secret ? inClosed : inOpen, text, index));
  }
  progress.end();
  return posted;
}

/** Who hears of what happens in a repository. */
interface Ears {
  audience: Audience;
  hooks: readonly FoundHook[];
}

/** A thread with those who follow it. */
interface Place extends Ears {
  repository: ReadyRepository;
  thread: number;
}

async function placeOf(
  playground: Playground,
  repository: ReadyRepository,
  thread: number,
): Promise<Place> {
  return { repository, thread, ...(await findEars(playground, repository, thread)) };
}

async function findEars(
  { pool, receiver }: Playground,
  { id }: ReadyRepository,
  thread: number | null,
): Promise<Ears> {
  return {
    audience: await findAudience(pool, id, thread),
    hooks: await findHooks(pool, id, receiver.url),
  };
}

async function openThread(
  playground: Playground,
  repository: ReadyRepository,
  text: DemoComment | undefined,
): Promise<{ posted: Posted; thread: number }> {
  const body = text?.body ?? '';
  const made = await playground.api.call(
    'POST',
    `/repos/${OWNER}/${repository.name}/threads`,
    playground.demo.tokenOf(OWNER),
    { title: `Everything that one run sends (${new Date().toISOString()})`, body },
  );
  const event = await findEvent(playground.pool, 'thread', numberIn(made, 'id'));
  const ears = await findEars(playground, repository, null);
  return {
    thread: numberIn(made, 'number'),
    posted: {
      ...expectation(ears, OWNER, 'thread.opened'),
      name: 'thread',
      source: text?.source ?? '',
      eventId: event,
      eventType: 'thread.opened',
      body,
    },
  };
}

async function postComment(
  playground: Playground,
  { repository, thread, ...ears }: Place,
  text: DemoComment,
  index: number,
): Promise<Posted> {
  // Who follows it no more would begin to by a comment.
  const authors = repository.watchers.filter((login) => ears.audience.readers.includes(login));
  const author = authors[index % authors.length] ?? OWNER;
  const made = await playground.api.call(
    'POST',
    `/repos/${OWNER}/${repository.name}/threads/${thread}/comments`,
    playground.demo.tokenOf(author),
    { body: text.body },
  );
  return {
    ...expectation(ears, author, 'comment.created'),
    name: `comment ${index + 1}${repository.private ? ' (private)' : ''}`,
    source: text.source,
    eventId: await findEvent(playground.pool, 'comment', numberIn(made, 'id')),
    eventType: 'comment.created',
    body: text.body,
  };
}

/** Who hears of what an author does, by the rules that the demo's people know. */
function expectation(
  { audience: { readers, leftOut }, hooks }: Ears,
  author: string,
  eventType: string,
) {
  const idsOf = (fits: (hook: FoundHook) => boolean) =>
    hooks.filter((hook) => fits(hook)).map(({ id }) => id);
  return {
    readers: readers.filter((login) => login !== author),
    skippedAccounts: [author, ...leftOut.filter((login) => login !== author)],
    hookIds: idsOf((hook) => hook.takes(eventType)),
    skippedHookIds: idsOf((hook) => !hook.takes(eventType)),
    unseenHookIds: idsOf((hook) => !hook.seen),
  };
}

/** The event that the answered request committed. */
async function findEvent(pool: Pool, kind: 'thread' | 'comment', id: number): Promise<string> {
  const type = kind === 'thread' ? 'thread.opened' : 'comment.created';
  const { rows } = await pool.query<{ id: string }>(
    `SELECT id FROM outbox_event WHERE type = $1 AND (payload #>> ARRAY[$2, 'id'])::bigint = $3
     ORDER BY id DESC LIMIT 1`,
    [type, kind, id],
  );
  const event = rows[0]?.id;
  if (event === undefined)
    throw new Error(`The ${kind} ${id} was answered but is not in the outbox.`);
  return event;
}

/** @returns whether the time was up first */
async function waitForAll(options: OnceOptions, posted: readonly Posted[]): Promise<boolean> {
  const { playground, witness, progress, signal } = options;
  const eventIds = posted.map((one) => one.eventId);
  const giveUpAt = performance.now() + options.timeoutMs;
  for (;;) {
    const now = await progressOfEvents(playground.pool, eventIds);
    progress.show(
      `Deliveries: ${now.ended} of ${now.ended + now.pending + now.held} done` +
        (now.consumersOpen > 0 ? ', more to come' : '') +
        ` (${witness.count.mails} mails and ${witness.count.webhooks} webhook requests came)`,
    );
    if (now.consumersOpen === 0 && now.pending === 0) return false;
    if (performance.now() > giveUpAt) return true;
    await delay(LOOK_EVERY_MS, undefined, { signal });
  }
}

async function findContents(
  pool: Pool,
  posted: readonly Posted[],
): Promise<Map<string, StoredContent>> {
  const { rows } = await pool.query<StoredContent & { id: string }>(
    `SELECT j.id, c.body, c.parts, j.own FROM delivery_job j JOIN delivery_content c ON c.id = j.content_id
     WHERE j.event_id = ANY ($1::uuid[])`,
    [posted.map((one) => one.eventId)],
  );
  return new Map(rows.map((row) => [row.id, row]));
}
