import type { Socket } from 'node:net';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import {
  type ClientSockets,
  watchClientSockets,
} from '../../../../test/support/hostile/client-sockets.js';
import {
  ANSWER_TO,
  KEPT_CASES,
  type KeptCase,
} from '../../../../test/support/hostile/kept-cases.js';
import { onRequest } from '../../../../test/support/hostile/on-request.js';
import { head, OK } from '../../../../test/support/hostile/answers/server-moves.js';
import { openWebhookSender } from '../../../../test/support/open-webhook-sender.js';
import { rawServer } from '../../../../test/support/servers-of-a-test.js';
import { webhookSender } from '../../../../test/support/webhook-sender.js';
import { startRawServer } from '../../../../test/support/raw-server.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

const WEBHOOKS = 4;
/** What the server did is read in the next turns of the loop. */
const READ_AFTER_MS = 20;
const READ_TURNS = 3;

interface Seen {
  /** What was answered to each webhook, and the request that the answer named. */
  answers: (readonly [verdict: string, to: string | undefined])[];
  connections: number;
  requests: number;
}

const ids = Array.from({ length: WEBHOOKS }, (_, n) => `01934f6e-8a1c-7c3a-9b1f-00000000000${n}`);
const seen = new Map<string, Seen>();
let sockets: ClientSockets;

beforeAll(async () => {
  sockets = watchClientSockets();
  await Promise.all(KEPT_CASES.map(async (one) => seen.set(one.what, await sendInTurn(one))));
  await waitUntil(() => sockets.open() === 0, { what: 'the end of all sockets' });
});
afterAll(() => sockets.stop());

async function sendInTurn({ play }: KeptCase): Promise<Seen> {
  let requests = 0;
  const plays: unknown[] = [];
  const server = await startRawServer((socket) => {
    let first = true;
    onRequest(socket, (request) => {
      requests += 1;
      const id = /^x-ghost-delivery: (.*)$/imu.exec(request)?.[1];
      plays.push(play(socket, (...fields) => head(OK, `${ANSWER_TO}: ${id}`, ...fields), first));
      first = false;
    });
  });
  const sender = openWebhookSender();
  try {
    const answers: Seen['answers'] = [];
    for (const id of ids) {
      const { outcome } = await sender.send(`http://127.0.0.1:${server.port}/`, { id });
      const facts = 'facts' in outcome ? outcome.facts : null;
      answers.push([outcome.verdict, facts?.responseHead?.[ANSWER_TO]]);
      await Promise.all(plays);
      await delay(READ_AFTER_MS);
      // However late the timer was: sockets are read between two of these.
      for (let turns = 0; turns < READ_TURNS; turns += 1) await turn();
    }
    return { answers, connections: server.connections(), requests };
  } finally {
    sender.close();
    await server.stop();
  }
}

describe('each webhook gets its own answer, and is no failed attempt, with a server that', () => {
  test.each(KEPT_CASES)('$what', ({ what, reused, requests = 1 }) => {
    expect(seen.get(what)).toEqual({
      answers: ids.map((id) => ['delivered', id]),
      connections: reused ? 1 : WEBHOOKS,
      requests: 1 + (WEBHOOKS - 1) * requests,
    } satisfies Seen);
  });
});

describe('kept connections', () => {
  const HOOKS = 70;
  /** As many as may be sent at once to one host. */
  const KEPT_OF_A_HOST = 50;
  const webhookOf = (hookId: number) => ({
    job: { version: 1, kind: 'webhook', hookId, event: 'ping', body: '{}' } as const,
  });
  const answering = () =>
    rawServer((socket) => onRequest(socket, () => socket.write(head(OK, 'content-length: 0'))));

  test('to one host are bounded, by however many hooks', async () => {
    const server = await answering();
    const { send } = webhookSender();
    for (let hookId = 1; hookId <= HOOKS; hookId += 1) {
      await send(`http://127.0.0.1:${server.port}/`, webhookOf(hookId));
    }
    await waitUntil(() => server.open() <= KEPT_OF_A_HOST, {
      what: () => `${server.open()} kept connections to be ${KEPT_OF_A_HOST}`,
      timeoutMs: 2_000,
    });
    expect(server.connections()).toBe(HOOKS);
  });

  test('stay open when a webhook is broken off that waited for one', async () => {
    const requests: Socket[] = [];
    const server = await rawServer((socket) => onRequest(socket, () => requests.push(socket)));
    const { send } = webhookSender();
    const url = `http://127.0.0.1:${server.port}/`;
    const answer = async (number: number) => {
      await waitUntil(() => requests.length === number, { what: `request ${number}` });
      requests.at(-1)?.write(head(OK, 'content-length: 0'));
    };
    const first = send(url);
    await waitUntil(() => requests.length === 1, { what: 'the first request' });
    const stop = new AbortController();
    const waiting = send(url, { stop: stop.signal });
    stop.abort('shutdown');
    expect((await waiting).outcome).toEqual({ verdict: 'released', reason: 'shutdown' });
    await answer(1);
    await first;
    const next = send(url);
    await answer(2);
    expect((await next).outcome.verdict).toBe('delivered');
    expect(server.connections()).toBe(1);
  });

  test('are none after all were closed, also of an answer that ended that moment', async () => {
    const server = await answering();
    const sender = webhookSender();
    await sender.send(`http://127.0.0.1:${server.port}/`);
    sender.kept.closeAll();
    await waitUntil(() => server.open() === 0, { what: 'the end of the socket', timeoutMs: 2_000 });
  });
});
