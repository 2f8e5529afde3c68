import type { Dispatcher } from 'undici';

import { networkFaultReason, type NetworkFaultReason } from '../rules/network-fault.js';
import { KEPT_BODY_BYTES } from '../rules/stored-response.js';
import { codeOf, type DialProgress } from './guarded-connection.js';
import { closeConnection, type Connection } from './kept-connections.js';

const MAX_HEAD_FIELDS = 100;
/** Read so far that an ordinary answer ends by itself and its connection can be used again. */
const MAX_BODY_BYTES = 256 * 1024;

export interface HttpRequest {
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

/** A complete response head; `fields` in the order they came, as Latin-1 text. */
export interface ResponseHead {
  status: number;
  fields: [string, string][];
}

/** What came of an answer so far: written while it runs, so that a deadline can read it. */
export interface AnswerProgress extends DialProgress {
  anyByte: boolean;
  head?: ResponseHead;
  /** The first bytes of the body. */
  body: Uint8Array[];
}

export type Exchanged =
  /** The head is complete; the body ended, or its bound was reached. */
  | { kind: 'answered'; head: ResponseHead; reusable: boolean }
  | { kind: 'fault'; reason: NetworkFaultReason; code: string | undefined };

/**
 * Sends one request on a connection and reads the answer within its bounds: head of at most 8 KiB
 * and 100 fields, body up to 256 KiB of which 16 KiB are kept. Redirects are not followed, nothing
 * is decompressed. Aborting destroys the socket; the promise then settles with a fault.
 */
export function exchange(
  connection: Connection,
  request: HttpRequest,
  progress: AnswerProgress,
  signal: AbortSignal,
): Promise<Exchanged> {
  progress.phase = 'request';
  return new Promise((resolve) => {
    const abort = () => closeConnection(connection);
    signal.addEventListener('abort', abort, { once: true });
    const settle = (result: Exchanged) => {
      signal.removeEventListener('abort', abort);
      resolve(result);
    };
    const handler = new AnswerHandler(progress, (result) => {
      if (result.kind === 'fault' || !result.reusable) closeConnection(connection);
      settle(result);
    });
    if (signal.aborted) abort();
    connection.client.dispatch(
      { path: request.path, method: 'POST', headers: request.headers, body: request.body },
      handler,
    );
  });
}

class AnswerHandler implements Dispatcher.DispatchHandler {
  readonly #progress: AnswerProgress;
  readonly #done: (result: Exchanged) => void;
  readonly #startedAt = performance.now();
  #bodyBytes = 0;

  constructor(progress: AnswerProgress, done: (result: Exchanged) => void) {
    this.#progress = progress;
    this.#done = done;
  }

  onRequestStart(): void {
    // undici takes a handler for one of the current kind by this method.
  }

  onResponseStarted(): void {
    if (this.#progress.anyByte) return;
    this.#progress.anyByte = true;
    this.#progress.timings.firstByte = Math.round(performance.now() - this.#startedAt);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    // 1xx announces the answer; it is not the answer (RFC 9110 §15.2).
    if (status < 200) return;
    const fields = fieldsOf(controller.rawHeaders);
    if (fields.length > MAX_HEAD_FIELDS) {
      this.#done({ kind: 'fault', reason: 'head_too_large', code: undefined });
      return;
    }
    this.#progress.head = { status, fields };
    this.#progress.phase = 'body';
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { head, body } = this.#progress;
    const keptBytes = KEPT_BODY_BYTES - this.#bodyBytes;
    // Copied: the chunk is a view of a larger buffer that would stay alive with it.
    if (keptBytes > 0) body.push(new Uint8Array(chunk.subarray(0, keptBytes)));
    this.#bodyBytes += chunk.length;
    if (this.#bodyBytes > MAX_BODY_BYTES && head) {
      this.#done({ kind: 'answered', head, reusable: false });
    }
  }

  onResponseEnd(): void {
    const { head } = this.#progress;
    if (head) this.#done({ kind: 'answered', head, reusable: true });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // undici 7 gives a parser's error a name and no code.
    const code = codeOf(error) ?? error.name;
    const { head, phase } = this.#progress;
    // A body that breaks off changes nothing about a complete head.
    if (head) this.#done({ kind: 'answered', head, reusable: false });
    else this.#done({ kind: 'fault', reason: networkFaultReason(code, phase), code });
  }
}

function fieldsOf(raw: Dispatcher.DispatchController['rawHeaders']): [string, string][] {
  const fields: [string, string][] = [];
  if (!Array.isArray(raw)) return fields;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    fields.push([text(raw[index]), text(raw[index + 1])]);
  }
  return fields;
}

function text(raw: Buffer | string | undefined): string {
  return typeof raw === 'string' ? raw : (raw?.toString('latin1') ?? '');
}
