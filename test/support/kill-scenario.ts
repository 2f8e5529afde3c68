import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import type { Pool } from '@ghost/db';
import { addAccount } from '@ghost/operations';

import { type ApiClient, apiClient } from './api-client.js';
import { freePort, startApi, startDelivery, testEnvironment } from './ghost-processes.js';
import { type CaughtMail, startMailCatcher } from './mail-catcher.js';
import type { RunningProcess } from './processes.js';
import { openPool } from './test-database.js';
import { waitUntil } from './wait-until.js';
import { type ReceivedRequest, startReceiver } from './webhook-receiver.js';

const WATCHERS = ['brian', 'chika', 'dmitri'] as const;
const POSTERS = 4;
const MOST_IN_ROW = 2;
const SETTLE_WITHIN_MS = 40_000;
const PAUSE_BETWEEN_POSTS_MS = 60;
const PAUSE_BETWEEN_KILLS_MS = { min: 100, max: 900 };

export interface KillScenario {
  databaseUrl: string;
  comments: number;
  kills: number;
  /** Same seed, same victims and pauses. */
  seed: number;
  onProgress?: (line: string) => void;
}

export interface KillReport {
  /** Comments answered 201, and those in the database (some were committed and never answered). */
  accepted: number;
  committed: number;
  kills: { api: number; delivery: number };
  /** "comment 12: no mail to chika", … */
  missing: string[];
  /** Deliveries of comments that are not in the database. */
  uncommitted: string[];
  /** Repeats whose bytes differ from the first. */
  differing: string[];
  webhooks: { deliveries: number; requests: number; repeatsAfterSuccess: number };
  mails: { deliveries: number; messages: number; repeats: number };
  dead: number;
}

/**
 * Posts comments over HTTP to real processes while API and delivery are killed with SIGKILL at
 * random and started again, then compares what the database committed with what arrived.
 */
export async function runKillScenario(scenario: KillScenario): Promise<KillReport> {
  const random = randomFrom(scenario.seed);
  const cleanups: (() => Promise<unknown>)[] = [];
  try {
    return await play(scenario, random, (cleanup) => cleanups.unshift(cleanup));
  } finally {
    for (const cleanup of cleanups) await cleanup();
  }
}

async function play(
  scenario: KillScenario,
  random: () => number,
  atEnd: (cleanup: () => Promise<unknown>) => void,
): Promise<KillReport> {
  const pool = openPool(scenario.databaseUrl, 4);
  atEnd(() => pool.end());
  const steady = await startReceiver();
  atEnd(() => steady.stop());
  const answers = new Map<ReceivedRequest, number>();
  let failedInRow = 0;
  const flaky = await startReceiver((request) => {
    // Never so often in a row that its lane rests for longer than the test waits (the breaker opens at five).
    const status = failedInRow < MOST_IN_ROW && random() < 0.5 ? 500 : 200;
    failedInRow = status === 500 ? failedInRow + 1 : 0;
    answers.set(request, status);
    return status;
  });
  atEnd(() => flaky.stop());
  const mails = await startMailCatcher();
  atEnd(() => mails.stop());

  const env = testEnvironment(scenario.databaseUrl, {
    GHOST_SMTP_URL: mails.url,
    GHOST_LEASE_MS: '2000',
    GHOST_RETRY_BASE_MS: '50',
    GHOST_RETRY_CAP_MS: '500',
    GHOST_OUTBOX_RETRY_BASE_MS: '100',
    GHOST_MAX_ATTEMPTS: '30',
  });
  const victims = new Victims(await freePort(), await freePort(), env);
  atEnd(() => victims.stop());
  await victims.start();

  const author = await addAccount(pool, { login: 'ada', email: 'ada@readers.example' });
  const api = apiClient(victims.apiUrl, author.token);
  await api.expect(201, 'POST', '/user/repos', { name: 'demo', private: false });
  for (const login of WATCHERS) {
    const watcher = await addAccount(pool, { login, email: `${login}@readers.example` });
    await apiClient(victims.apiUrl, watcher.token).expect(
      200,
      'PUT',
      '/repos/ada/demo/subscription',
      { subscribed: true },
    );
  }
  for (const url of [steady.url, flaky.url]) {
    await api.expect(201, 'POST', '/repos/ada/demo/hooks', {
      config: { url },
      events: ['comment.created'],
    });
  }
  await api.expect(201, 'POST', '/repos/ada/demo/threads', {
    title: 'Killed at random',
    body: 'Start',
  });

  const posting = { goal: scenario.comments, killing: true, accepted: new Set<number>() };
  const posters = Array.from({ length: POSTERS }, () => post(api, posting));
  try {
    await victims.killAtRandom(scenario.kills, random, scenario.onProgress);
  } catch (error) {
    // Nobody answers any more: posters that waited for their goal would never end.
    posting.goal = 0;
    throw error;
  } finally {
    posting.killing = false;
  }
  await Promise.all(posters);
  let open = '';
  await waitUntil(async () => (open = await describeOpen(pool)) === '', {
    timeoutMs: SETTLE_WITHIN_MS,
    everyMs: 200,
    what: () => `every event to be fanned out and every job to end; open: ${open}`,
  });
  await victims.stop();
  return compare(pool, {
    accepted: posting.accepted,
    kills: victims.killed,
    hooks: [steady.requests(), flaky.requests()],
    answers,
    mails: mails.mails(),
  });
}

class Victims {
  readonly killed = { api: 0, delivery: 0 };
  readonly #ports: { api: number; delivery: number };
  readonly #env: Readonly<Record<string, string>>;
  readonly #running: { api?: RunningProcess; delivery?: RunningProcess } = {};

  constructor(api: number, delivery: number, env: Readonly<Record<string, string>>) {
    this.#ports = { api, delivery };
    this.#env = env;
  }

  get apiUrl(): string {
    return `http://127.0.0.1:${this.#ports.api}`;
  }

  async start(): Promise<void> {
    this.#running.api = await startApi(this.#ports.api, this.#env);
    this.#running.delivery = await startDelivery(this.#ports.delivery, this.#env);
  }

  async killAtRandom(
    kills: number,
    random: () => number,
    onProgress?: (line: string) => void,
  ): Promise<void> {
    for (let done = 0; done < kills; done += 1) {
      const { min, max } = PAUSE_BETWEEN_KILLS_MS;
      await delay(min + random() * (max - min));
      const name = random() < 0.5 ? 'api' : 'delivery';
      await this.#running[name]?.kill9();
      this.killed[name] += 1;
      onProgress?.(`killed ${name} (${done + 1} of ${kills})`);
      if (name === 'api') this.#running.api = await startApi(this.#ports.api, this.#env);
      else this.#running.delivery = await startDelivery(this.#ports.delivery, this.#env);
    }
  }

  async stop(): Promise<void> {
    const { api, delivery } = this.#running;
    delete this.#running.api;
    delete this.#running.delivery;
    await Promise.all([api?.stop(), delivery?.stop()]);
  }
}

/** Posts as long as processes are killed, and on until enough comments were accepted. */
async function post(
  api: ApiClient,
  posting: { goal: number; killing: boolean; accepted: Set<number> },
): Promise<void> {
  for (let n = 1; posting.killing || posting.accepted.size < posting.goal; n += 1) {
    const answer = await api
      .send('POST', '/repos/ada/demo/threads/1/comments', { body: `Comment 👋 ${n}` })
      .catch(() => undefined);
    if (answer?.status === 201) posting.accepted.add((answer.body as { id: number }).id);
    // Posting lasts as long as the killing; while the API is down it is asked again.
    await delay(PAUSE_BETWEEN_POSTS_MS);
  }
}

/** What is not finished, for people; empty when all is. */
async function describeOpen(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ what: string }>(
    `SELECT format('%s %s since %s attempts, lease %s, next %s, error %s', consumer, event_id, attempts,
       lease_until - now(), run_at - now(), last_error) AS what
     FROM outbox_progress WHERE done_at IS NULL AND set_aside_at IS NULL
     UNION ALL
     SELECT format('%s %s after %s attempts (%s claims), lease %s, next %s, lane next %s %s, error %s', j.lane, j.id, j.attempts,
       j.abandoned, j.lease_until - now(), j.run_at - now(), l.next_at - now(), l.held_reason, j.last_error)
     FROM delivery_job j JOIN delivery_lane l USING (lane, version) WHERE j.status = 'pending'
     LIMIT 20`,
  );
  return rows.map((row) => row.what).join('; ');
}

interface Seen {
  accepted: Set<number>;
  kills: KillReport['kills'];
  hooks: (readonly ReceivedRequest[])[];
  answers: Map<ReceivedRequest, number>;
  mails: readonly CaughtMail[];
}

async function compare(pool: Pool, seen: Seen): Promise<KillReport> {
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM comment');
  const committed = new Set(rows.map((row) => Number(row.id)));
  const dead = await pool.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM delivery_job WHERE status <> 'delivered'`,
  );
  const report: KillReport = {
    accepted: seen.accepted.size,
    committed: committed.size,
    kills: seen.kills,
    missing: [...seen.accepted]
      .filter((id) => !committed.has(id))
      .map((id) => `comment ${id}: answered 201, not in the database`),
    uncommitted: [],
    differing: [],
    webhooks: { deliveries: 0, requests: 0, repeatsAfterSuccess: 0 },
    mails: { deliveries: 0, messages: 0, repeats: 0 },
    dead: dead.rows[0]?.n ?? 0,
  };
  for (const [index, requests] of seen.hooks.entries())
    compareWebhooks(report, committed, requests, seen.answers, index);
  compareMails(report, committed, seen.mails);
  return report;
}

function compareWebhooks(
  report: KillReport,
  committed: Set<number>,
  requests: readonly ReceivedRequest[],
  answers: Map<ReceivedRequest, number>,
  hook: number,
): void {
  const byDelivery = new Map<string, { digest: string; comment: number; successes: number }>();
  for (const request of requests) {
    if (request.headers['x-ghost-event'] !== 'comment.created') continue;
    report.webhooks.requests += 1;
    const id = String(request.headers['x-ghost-delivery']);
    const digest = digestOf(request.body);
    const comment = (JSON.parse(request.body.toString('utf8')) as { comment: { id: number } })
      .comment.id;
    const known = byDelivery.get(id) ?? { digest, comment, successes: 0 };
    byDelivery.set(id, known);
    if (known.digest !== digest) report.differing.push(`webhook ${id}`);
    if ((answers.get(request) ?? 200) === 200) known.successes += 1;
  }
  const reached = new Set<number>();
  for (const { comment, successes } of byDelivery.values()) {
    if (!committed.has(comment)) report.uncommitted.push(`webhook of comment ${comment}`);
    if (reached.has(comment))
      report.differing.push(`comment ${comment} has two deliveries at hook ${hook}`);
    if (successes > 0) reached.add(comment);
    report.webhooks.repeatsAfterSuccess += Math.max(0, successes - 1);
  }
  report.webhooks.deliveries += byDelivery.size;
  for (const id of committed)
    if (!reached.has(id)) report.missing.push(`comment ${id}: no webhook at hook ${hook}`);
}

function compareMails(
  report: KillReport,
  committed: Set<number>,
  mails: readonly CaughtMail[],
): void {
  const byMessage = new Map<string, string>();
  const reached = new Map<string, Set<number>>(WATCHERS.map((login) => [login, new Set()]));
  for (const mail of mails) {
    const raw = mail.raw.toString('latin1');
    const comment = Number(/\/threads\/1#comment-(\d+)/u.exec(unfold(raw))?.[1]);
    // The mail of the thread's opening has no comment.
    if (Number.isNaN(comment)) continue;
    report.mails.messages += 1;
    const id = /^message-id:\s*(<[^>]+>)/imu.exec(raw)?.[1] ?? 'none';
    const digest = digestOf(mail.raw);
    const known = byMessage.get(id);
    if (known === undefined) byMessage.set(id, digest);
    else report.mails.repeats += 1;
    if (known !== undefined && known !== digest) report.differing.push(`mail ${id}`);
    if (!committed.has(comment)) report.uncommitted.push(`mail of comment ${comment}`);
    const login = mail.envelope.to[0]?.split('@')[0] ?? '';
    const of = reached.get(login);
    if (of === undefined) report.uncommitted.push(`mail to ${login}, who does not watch`);
    else if (of.has(comment) && known === undefined)
      report.differing.push(`comment ${comment} has two mails to ${login}`);
    of?.add(comment);
  }
  report.mails.deliveries = byMessage.size;
  for (const [login, got] of reached) {
    for (const id of committed)
      if (!got.has(id)) report.missing.push(`comment ${id}: no mail to ${login}`);
  }
}

// Quoted-printable breaks long lines with "=", so that a link may stand on two.
function unfold(raw: string): string {
  return raw.replaceAll('=\r\n', '').replaceAll('=3D', '=');
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
