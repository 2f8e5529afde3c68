import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { bytesOf, head, OK } from './answers/server-moves.js';

/** What a server does with connections that are used again: one webhook after the other, by one sender. */
export interface KeptCase {
  what: string;
  /**
   * Answers one request; the next webhook is sent when all that it does about it is done.
   *
   * @param answer - the honest one: 200, without a body, and names its request
   * @param first - the first of its connection
   */
  play: (socket: Socket, answer: Answer, first: boolean) => void | Promise<void>;
  /** The next webhook may have the same connection. */
  reused: boolean;
  /** Requests that the server sees for each webhook after the first, where it is not one. */
  requests?: number;
}

/** Makes the head of an answer that names its request, and has these fields beside. */
export type Answer = (...fields: string[]) => string;

/** The field by which an answer names the request that it is for. */
export const ANSWER_TO = 'x-answer-to';
const EMPTY = 'content-length: 0';
/** An answer to nothing. */
export const POISON = head('HTTP/1.1 500 Poison', `${ANSWER_TO}: nothing`, EMPTY);
/** After an answer its connection is idle. */
const IDLE_AFTER_MS = 20;

/** Says something right behind a complete answer. */
const followed = (what: string, text: string): KeptCase => ({
  what,
  reused: false,
  play: (socket, answer) => void socket.write(bytesOf(answer(EMPTY) + text)),
});
/** Does something while the connection is idle. */
const whenIdle = (what: string, act: (socket: Socket) => void): KeptCase => ({
  what,
  reused: false,
  play: async (socket, answer) => {
    socket.write(answer(EMPTY));
    await delay(IDLE_AFTER_MS);
    act(socket);
  },
});

export const KEPT_CASES: readonly KeptCase[] = [
  {
    what: 'answers and waits',
    reused: true,
    play: (socket, answer) => void socket.write(answer(EMPTY)),
  },
  {
    what: 'answers in chunks and waits',
    reused: true,
    play: (socket, answer) =>
      void socket.write(`${answer('transfer-encoding: chunked')}2\r\nok\r\n0\r\n\r\n`),
  },
  {
    what: 'answers byte by byte and waits',
    reused: true,
    play: (socket, answer) => {
      for (const byte of answer(EMPTY)) socket.write(byte);
    },
  },
  followed('writes a second answer with the first', POISON),
  followed('writes half a second answer with the first', POISON.slice(0, 30)),
  followed('writes 103 behind its answer', head('HTTP/1.1 103 Early Hints')),
  followed('writes NUL behind its answer', '\0'),
  {
    what: 'writes a second answer behind the last chunk',
    reused: false,
    play: (socket, answer) =>
      void socket.write(`${answer('transfer-encoding: chunked')}2\r\nok\r\n0\r\n\r\n${POISON}`),
  },
  {
    what: 'writes a second answer as the body of a 204',
    reused: false,
    play: (socket, answer) =>
      void socket.write(
        answer(`content-length: ${POISON.length}`).replace('200 OK', '204 None') + POISON,
      ),
  },
  {
    what: 'answers with a 204 that tells of a body, and writes none',
    reused: false,
    play: (socket, answer) =>
      void socket.write(answer('content-length: 5').replace('200 OK', '204 None')),
  },
  {
    what: 'writes more than the length of its body',
    reused: false,
    play: (socket, answer) => void socket.write(`${answer('content-length: 2')}ok${POISON}`),
  },
  whenIdle('writes a second answer when idle', (socket) => void socket.write(POISON)),
  whenIdle(
    'writes half a second answer when idle',
    (socket) => void socket.write(POISON.slice(0, 30)),
  ),
  whenIdle('writes a byte when idle', (socket) => void socket.write('H')),
  whenIdle(
    'says 408 when idle and closes',
    (socket) => void socket.end(head('HTTP/1.1 408 Request Timeout', 'connection: close', EMPTY)),
  ),
  whenIdle('closes when idle', (socket) => void socket.end()),
  whenIdle('resets when idle', (socket) => void socket.resetAndDestroy()),
  {
    what: 'says close and waits',
    reused: false,
    play: (socket, answer) => void socket.write(answer('Connection: Close', EMPTY)),
  },
  {
    what: 'says close among other options and waits',
    reused: false,
    play: (socket, answer) => void socket.write(answer('connection: keep-alive, close', EMPTY)),
  },
  {
    what: 'is HTTP/1.0 and waits',
    reused: false,
    play: (socket, answer) => void socket.write(answer(EMPTY).replace(OK, 'HTTP/1.0 200 OK')),
  },
  {
    what: 'closes when the next request comes',
    reused: false,
    requests: 2,
    play: (socket, answer, first) => void (first ? socket.write(answer(EMPTY)) : socket.end()),
  },
  {
    what: 'resets when the next request comes',
    reused: false,
    requests: 2,
    play: (socket, answer, first) =>
      void (first ? socket.write(answer(EMPTY)) : socket.resetAndDestroy()),
  },
];
