import type { Socket } from 'node:net';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';

import type { AttemptOutcome } from '@ghost/contract';

import { type OpenWebhookSender, openWebhookSender } from '../../open-webhook-sender.js';
import { startRawServer } from '../../raw-server.js';
import { waitUntil } from '../../wait-until.js';
import { watchClientSockets } from '../client-sockets.js';
import { unstorable } from '../faults-of-played.js';
import { ANSWER_TO } from '../kept-cases.js';
import { onRequest } from '../on-request.js';
import { randomScript, type Script } from './random-answer.js';
import { type Random, seededRandom } from './seeded-random.js';

const DEADLINE_MS = 1_500;
/** Timers may be that early. */
const EARLY_MS = 5;
/** What was written in pieces before the next request may have crossed with it on its way. */
const CROSSED_MS = 50;
/** Server and sender are one process: on a busy machine one turn of its loop takes as long, and what was written in it is read in the next. */
const CROSSED_TURNS = 3;
/** Only what is idle for a turn of the loop is kept, and used again. */
const IDLE_SHARE = 0.6;
const IDLE_MS = [5, 5, 80];
const SOCKETS_END_WITHIN_MS = 5_000;
const MOST_FAULTS = 20;

export interface FuzzOptions {
  seed: number;
  /** Hooks that send side by side, each one webhook after the other. */
  lanes: number;
  /** No webhook is begun after either. */
  attemptsMost: number;
  forMs: number;
  slackMs: number;
}

export interface Fuzzed {
  attempts: number;
  /** Of them with an answer that nothing was done to. */
  intact: number;
  /** Of these, ended by their deadline alone: a fault, or a busy machine. */
  intactLate: number;
  /** Webhooks that were sent over a connection that had carried one before. */
  reused: number;
  delivered: number;
  latestMs: number;
  /** What went wrong, each with what repeats it; the first few. */
  faults: string[];
  socketsLeft: number;
}

/** One webhook and what the server did about it. */
interface Sending {
  id: string;
  random: Random;
  script?: Script;
  reused: boolean;
  /** Bytes of the answer before may have come after the request was sent. */
  crossed: boolean;
}

/** Sends webhooks to a server that answers randomly, with kept connections, and judges what comes of each. */
export async function fuzzAnswers(options: FuzzOptions): Promise<Fuzzed> {
  const sockets = watchClientSockets();
  const sendings = new Map<string, Sending>();
  const server = await startRawServer((socket) => playScripts(socket, sendings));
  const sender = openWebhookSender({ deadlineMs: DEADLINE_MS });
  const seen: Fuzzed = {
    attempts: 0,
    intact: 0,
    intactLate: 0,
    reused: 0,
    delivered: 0,
    latestMs: 0,
    faults: [],
    socketsLeft: 0,
  };
  const url = `http://127.0.0.1:${server.port}/`;
  try {
    await Promise.all(
      Array.from({ length: options.lanes }, (_, lane) =>
        sendInTurn({ url, sender, sendings, lane, seen }, options),
      ),
    );
    sender.close();
    const left = () => server.open() + sockets.open(server.port);
    await waitUntil(() => left() === 0, {
      what: 'the end of all sockets',
      timeoutMs: SOCKETS_END_WITHIN_MS,
    }).catch(() => undefined);
    return { ...seen, socketsLeft: left() };
  } finally {
    sender.close();
    sockets.stop();
    await server.stop();
  }
}

interface Lane {
  url: string;
  sender: OpenWebhookSender;
  sendings: Map<string, Sending>;
  lane: number;
  seen: Fuzzed;
}

async function sendInTurn(
  { url, sender, sendings, lane, seen }: Lane,
  { seed, attemptsMost, forMs, slackMs }: FuzzOptions,
): Promise<void> {
  const endsAt = performance.now() + forMs;
  let restedMs = CROSSED_MS;
  for (let n = 0; performance.now() < endsAt && seen.attempts < attemptsMost; n += 1) {
    // Each has a source of its own, so that it repeats whatever the others do.
    const random = seededRandom(Math.imul(seed, 1_000_003) + lane * 100_003 + n);
    const id = randomId(random);
    // So long as the server has not seen it: whether it crossed is told by the time alone.
    const sending: Sending = { id, random, reused: false, crossed: restedMs < CROSSED_MS };
    sendings.set(id, sending);
    seen.attempts += 1;
    const startedAt = performance.now();
    const job = { version: 1, kind: 'webhook', hookId: lane, event: 'ping', body: '{}' } as const;
    const sent = await sender.send(url, { id, job }).catch((error: unknown) => ({ error }));
    const tookMs = performance.now() - startedAt;
    seen.latestMs = Math.max(seen.latestMs, tookMs - DEADLINE_MS);
    const late = tookMs >= DEADLINE_MS - EARLY_MS;
    const faults =
      'error' in sent
        ? [`it threw ${String(sent.error)}`]
        : faultsOf(sent.outcome, sending, sendings, late);
    if (tookMs > DEADLINE_MS + slackMs) faults.push(`it took ${tookMs.toFixed(0)} ms`);
    if (sending.script?.intact) {
      seen.intact += 1;
      if (late && !sending.crossed) seen.intactLate += 1;
    }
    if (sending.reused) seen.reused += 1;
    if ('outcome' in sent && sent.outcome.verdict === 'delivered') seen.delivered += 1;
    if (faults.length > 0 && seen.faults.length < MOST_FAULTS) {
      seen.faults.push(
        `seed ${seed}, lane ${lane}, ${n}: ${faults.join('; ')} ${described(sending)}`,
      );
    }
    restedMs = random.chance(IDLE_SHARE) ? random.pick(IDLE_MS) : 0;
    if (restedMs > 0) await delay(restedMs);
    if (restedMs >= CROSSED_MS) await turns();
  }
}

async function turns(): Promise<void> {
  for (let count = 0; count < CROSSED_TURNS; count += 1) await turn();
}

/** An id that no small change makes into another. */
function randomId(random: Random): string {
  const hex = (length: number) =>
    Array.from({ length }, () => random.int(16).toString(16)).join('');
  return `01934f6e-${hex(4)}-7${hex(3)}-8${hex(3)}-${hex(12)}`;
}

function playScripts(socket: Socket, sendings: ReadonlyMap<string, Sending>): void {
  let first = true;
  let crossed = false;
  let pieces = 0;
  let wroteAt = 0;
  let writes = 0;
  /** Of them, those that the sender has read by now. */
  let read = 0;
  let current = 0;
  onRequest(socket, (request) => {
    const id = /^x-ghost-delivery: (.*)$/imu.exec(request)?.[1] ?? '';
    const sending = sendings.get(id);
    if (!sending || socket.writableEnded) return;
    sending.reused = !first;
    // Where one answer was taken for another's, so is each that follows.
    crossed ||= pieces > 1 && (read < writes || performance.now() - wroteAt < CROSSED_MS);
    sending.crossed = crossed;
    sending.script ??= randomScript(sending.random, id);
    first = false;
    pieces = sending.script.pieces.length;
    current += 1;
    const own = current;
    void write(socket, sending.script, () => {
      writes += 1;
      const count = writes;
      void turns().then(() => (read = count));
      wroteAt = performance.now();
      // What is left of an answer when the next request comes is not said.
      return current === own && !socket.destroyed;
    });
  });
}

async function write(socket: Socket, script: Script, goesOn: () => boolean): Promise<void> {
  for (const { bytes, pauseMs } of script.pieces) {
    if (pauseMs > 0) await delay(pauseMs);
    if (!goesOn()) return;
    socket.write(bytes);
  }
  if (script.end === 'end') socket.end();
  if (script.end === 'reset') socket.resetAndDestroy();
}

function faultsOf(
  outcome: AttemptOutcome,
  { id, script, crossed }: Sending,
  sendings: ReadonlyMap<string, Sending>,
  late: boolean,
): string[] {
  const facts = 'facts' in outcome ? outcome.facts : null;
  if (!facts) return [`it is ${outcome.verdict}, without facts`];
  const faults = unstorable(facts);
  const to = facts.responseHead?.[ANSWER_TO];
  if (!crossed && to !== undefined && to !== id && sendings.has(to)) {
    faults.push(`it has the answer to ${to}`);
  }
  if (script?.intact && !crossed && !late) {
    const { status, body } = script.intact;
    if (facts.status !== status) faults.push(`its status is ${facts.status}, not ${status}`);
    else if (facts.bodyExcerpt !== body) {
      faults.push(`its body is ${JSON.stringify(facts.bodyExcerpt)}, not ${JSON.stringify(body)}`);
    } else if (to !== id) faults.push(`it is answered to ${to}`);
  }
  return faults;
}

function described({ script, reused }: Sending): string {
  const text = script?.pieces.map(({ bytes }) => bytes.toString('latin1')).join('|') ?? '';
  return `(${reused ? 'kept' : 'new'} connection, ${script?.end}) ${JSON.stringify(text.slice(0, 600))}`;
}
