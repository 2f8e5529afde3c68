import type { Socket } from 'node:net';

import { networkFaultReason, type NetworkFaultReason } from '../rules/network-fault.js';
import type { AnswerReader, AnswerState } from './answer-reader.js';
import { codeOf } from './guarded-connection.js';

export type Exchanged =
  /** The head is complete; the body ended, broke off or reached its bound. */
  | { kind: 'answered'; reusable: boolean }
  | { kind: 'fault'; reason: NetworkFaultReason; code: string | undefined };

interface Exchange {
  answer: AnswerReader;
  /** Handed to the socket: what comes before that is no answer to it. */
  sent: boolean;
  onFirstByte: () => void;
  done: (result: Exchanged) => void;
}

/**
 * Requests of one turn of the loop, which are written at its end, one after the other. With the work for the next one
 * between two writes, a receiver on the same machine slept and was woken for each: a tenth of the worker's CPU and a
 * third of the receiver's (measured).
 */
let unwritten: (() => void)[] = [];

function writeSoon(write: () => void): void {
  unwritten.push(write);
  if (unwritten.length === 1) setImmediate(writeAll);
}

function writeAll(): void {
  const writes = unwritten;
  unwritten = [];
  for (const write of writes) write();
}

/**
 * HTTP/1.1 on a socket that was dialed and judged: one request at a time, its answer read within bounds
 * (docs/decisions/0041). What comes unasked ends it.
 */
export class HttpConnection {
  readonly socket: Socket;
  /** By the monotonic clock, in milliseconds. */
  readonly openedAt = performance.now();
  /** Told when it ends, for whoever keeps it. */
  onClose: (() => void) | undefined;
  #exchange: Exchange | undefined;
  #code: string | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    // A request of two packets must not wait for the acknowledgement of its first.
    socket.setNoDelay(true);
    socket.on('error', (error) => {
      this.#code = codeOf(error);
    });
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('end', () => this.#ended());
    socket.on('close', () => this.#closed());
    // One that leads through a proxy was paused behind its answer.
    socket.resume();
  }

  /** Open, and nothing is under way on it. */
  get idle(): boolean {
    return this.#exchange === undefined && !this.socket.destroyed && this.socket.writable;
  }

  /** Sends a request; `answer` fills while its bytes come, so that a deadline can read it. */
  post(request: Buffer, answer: AnswerReader, onFirstByte: () => void): Promise<Exchanged> {
    return new Promise((done) => {
      const exchange: Exchange = { answer, onFirstByte, done, sent: false };
      this.#exchange = exchange;
      if (this.socket.destroyed) return this.#closed();
      writeSoon(() => {
        if (this.#exchange !== exchange || this.socket.destroyed) return;
        exchange.sent = true;
        this.socket.write(request);
      });
    });
  }

  /** Ends it and whatever it carries. */
  close(): void {
    this.socket.destroy();
  }

  #read(bytes: Buffer): void {
    const exchange = this.#exchange;
    // Nothing was asked: what comes now would be taken for the next request's answer.
    if (exchange === undefined || !exchange.sent) return this.close();
    if (!exchange.answer.started) exchange.onFirstByte();
    this.#settle(exchange, exchange.answer.push(bytes));
  }

  #ended(): void {
    const state = this.#exchange?.answer.ended();
    if (this.#exchange !== undefined && state !== undefined) this.#settle(this.#exchange, state);
    this.close();
  }

  #closed(): void {
    this.onClose?.();
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    const state = exchange.answer.ended();
    if (state !== undefined) return this.#settle(exchange, state);
    const code = this.#code;
    this.#finish(exchange, { kind: 'fault', reason: networkFaultReason(code, 'request'), code });
  }

  #settle(exchange: Exchange, state: AnswerState): void {
    switch (state.kind) {
      case 'reading':
        return;
      case 'bad':
        return this.#finish(exchange, { kind: 'fault', reason: state.reason, code: undefined });
      case 'answered': {
        // An answer that came before all of the request was written is the last one here.
        const reusable = state.whole && this.socket.writableLength === 0;
        return this.#finish(exchange, { kind: 'answered', reusable });
      }
    }
  }

  #finish({ done }: Exchange, result: Exchanged): void {
    this.#exchange = undefined;
    if (result.kind === 'fault' || !result.reusable) this.close();
    done(result);
  }
}
