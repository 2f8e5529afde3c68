import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import type { AttemptOutcome } from '@ghost/contract';

import { type OpenWebhookSender, openWebhookSender } from '../open-webhook-sender.js';
import { type RawServer, startRawServer } from '../raw-server.js';
import { waitUntil } from '../wait-until.js';
import type { ClientSockets } from './client-sockets.js';
import type { HostileCase, Pace } from './answers/hostile-case.js';
import { onRequest } from './on-request.js';

const SOCKETS_END_WITHIN_MS = 2_000;
/** A connection is kept a turn of the loop after its answer. */
const KEPT_AFTER_MS = 5;

/** A server that plays one case, over and over. */
export interface CaseServer extends RawServer {
  readonly played: HostileCase;
  readonly url: string;
  /** Requests that were read to their end. */
  requests(): number;
  /** Lets connections that are not read any more hear of their end. */
  listen(): void;
}

/** What came of an attempt. */
export interface Attempted {
  outcome: AttemptOutcome;
  tookMs: number;
  deadlineMs: number;
}

/** The same, with what it took. */
export interface Played extends Attempted {
  requests: number;
  connections: number;
  /** Still open a while later: on the server's side, and on ours. */
  left: { server: number; client: number };
  /** The same once the sender was closed. */
  leftAfterClose: { server: number; client: number };
}

export async function startCaseServer(played: HostileCase, pace: Pace): Promise<CaseServer> {
  const { secure } = played;
  const paused = new Set<Socket>();
  let requests = 0;
  const server = await startRawServer(
    (socket) => {
      socket.on('pause', () => paused.add(socket));
      socket.on('close', () => paused.delete(socket));
      if (played.at === 'accept') played.play(socket, pace);
      onRequest(socket, () => {
        requests += 1;
        if (played.at !== 'accept') played.play(socket, pace);
      });
    },
    undefined,
    typeof secure === 'object' ? { tls: secure } : {},
  );
  return {
    ...server,
    played,
    url: `${secure === undefined ? 'http' : 'https'}://127.0.0.1:${server.port}/`,
    requests: () => requests,
    listen: () => {
      for (const socket of paused) socket.resume();
    },
  };
}

/** A sender that trusts the server's certificate, whatever else is wrong with it. */
export function senderTo({ secure }: HostileCase, deadlineMs: number): OpenWebhookSender {
  return openWebhookSender({
    deadlineMs,
    ...(typeof secure === 'object' ? { trust: secure.cert } : {}),
  });
}

export async function attempt(
  server: CaseServer,
  sender: OpenWebhookSender,
  deadlineMs: number,
  hookId = 1,
): Promise<Attempted> {
  const startedAt = performance.now();
  const job = { version: 1, kind: 'webhook', hookId, event: 'ping', body: '{}' } as const;
  const { outcome } = await sender.send(server.url, { job });
  const tookMs = performance.now() - startedAt;
  server.listen();
  return { outcome, tookMs, deadlineMs };
}

/** Sends one webhook to the server, by a sender of its own, and waits for the end of all sockets. */
export async function playOnce(
  server: CaseServer,
  deadlineMs: number,
  sockets: ClientSockets,
): Promise<Played> {
  const sender = senderTo(server.played, deadlineMs);
  const before = { requests: server.requests(), connections: server.connections() };
  try {
    const attempted = await attempt(server, sender, deadlineMs);
    await delay(KEPT_AFTER_MS);
    const left = await socketsLeft(server, sockets, server.played.expected.kept ? 1 : 0);
    sender.close();
    return {
      ...attempted,
      requests: server.requests() - before.requests,
      connections: server.connections() - before.connections,
      left,
      leftAfterClose: await socketsLeft(server, sockets, 0),
    };
  } finally {
    sender.close();
  }
}

async function socketsLeft(
  server: CaseServer,
  sockets: ClientSockets,
  expected: number,
): Promise<Played['left']> {
  const count = () => ({ server: server.open(), client: sockets.open(server.port) });
  await waitUntil(
    () => {
      const { server: theirs, client: ours } = count();
      return theirs === expected && ours === expected;
    },
    { what: 'the sockets', timeoutMs: SOCKETS_END_WITHIN_MS, everyMs: 10 },
  ).catch(() => undefined);
  return count();
}
