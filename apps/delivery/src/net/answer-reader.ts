import { KEPT_BODY_BYTES } from '../rules/stored-response.js';
import { parseHead, type ParsedHead, type ResponseHead } from './parse-head.js';

/** Status line and fields of the answer. */
export const MAX_HEAD_BYTES = 8 * 1024;
/** Of all heads that announce an answer (1xx) and are not it. */
const MAX_ANNOUNCED_BYTES = 64 * 1024;
/** Read so far, framing included, that an ordinary answer ends by itself and its connection can be used again. */
const MAX_BODY_BYTES = 256 * 1024;
/** Reads that it may come in: each takes up to 40 µs whatever it brings, and 256 KiB byte by byte took 0.3 s (measured). */
const MOST_PIECES = 500;
/** A chunk's size in hex; more than this is no size of a chunk that anyone reads. */
const MAX_SIZE_DIGITS = 8;
const CR = 13;
const LF = 10;
/** CR, `;`, and the blanks that some put there. */
const BEHIND_SIZE = new Set([CR, 59, 32, 9]);
const START = 'HTTP/1.';

/**
 * `reading`: more bytes are needed. `answered`: the head is complete, and nothing more of the body is read;
 * `whole`: it ended where its framing says, and the connection may carry another request.
 */
export type AnswerState =
  | { kind: 'reading' }
  | { kind: 'answered'; whole: boolean }
  | { kind: 'bad'; reason: 'bad_response' | 'head_too_large' };

type BodyState = 'data' | 'size' | 'extension' | 'after_data' | 'trailer' | 'until_close';

const NOTHING = new Uint8Array();
const READING: AnswerState = { kind: 'reading' };
const BROKEN_BODY: AnswerState = { kind: 'answered', whole: false };

/**
 * Reads one answer (RFC 9112) from bytes as they come, each part within its bound: what a receiver answers is
 * hostile data, and nothing of it but the head and the first 16 KiB of the body is kept. Strict about what
 * says where an answer ends, lenient about what its fields say: a complete 2xx head is a delivery.
 */
export class AnswerReader {
  /** Bytes came, of whatever kind. */
  started = false;
  head: ResponseHead | undefined;
  /** The first bytes of the body, which may come in thousands of pieces: these stand in one. */
  #kept: Uint8Array | undefined;
  #keptBytes = 0;
  #headBytes: Buffer | undefined;
  #announcedBytes = 0;
  #pieces = 0;
  #bodyBytes = 0;
  #state: BodyState = 'until_close';
  /** Bytes that are left of the body or of the chunk. */
  #left = 0;
  #size = 0;
  #sizeDigits = 0;
  #trailerLineBytes = 0;
  /** The byte before was a CR: of framing nothing but LF may follow, and no LF comes without one. */
  #afterCr = false;
  #chunked = false;
  #reusable = false;

  /** Takes the next bytes; to be called no more once it does not answer `reading`. */
  push(bytes: Buffer): AnswerState {
    this.started = true;
    this.#pieces += 1;
    if (this.#pieces > MOST_PIECES) return this.ended() ?? { kind: 'bad', reason: 'bad_response' };
    if (this.head !== undefined) return this.#readBody(bytes);
    let rest = bytes;
    // What was looked at is not looked at again: a head that came byte by byte took 220 ms (measured).
    let seen = 0;
    if (this.#headBytes !== undefined) {
      rest = Buffer.concat([this.#headBytes, bytes]);
      seen = this.#headBytes.length;
    }
    for (;;) {
      const end = rest.indexOf('\r\n\r\n', Math.max(0, seen - 3), 'latin1');
      // Of a head that is too large no more is looked at.
      if (end < 0 || end > MAX_HEAD_BYTES) return this.#unfinishedHead(rest, seen);
      const parsed = parseHead(rest.toString('latin1', 0, end));
      if (!parsed.ok) return { kind: 'bad', reason: parsed.reason };
      rest = rest.subarray(end + 4);
      seen = 0;
      if (parsed.head.status >= 200) {
        this.#headBytes = undefined;
        return this.#begin(parsed, rest);
      }
      // 1xx announces the answer; it is not the answer (RFC 9110 §15.2). Nobody asked to switch or to wait.
      if (parsed.head.status < 102) return { kind: 'bad', reason: 'bad_response' };
      this.#announcedBytes += end;
      if (this.#announcedBytes > MAX_ANNOUNCED_BYTES)
        return { kind: 'bad', reason: 'head_too_large' };
    }
  }

  /** The first bytes of the body. */
  get body(): Uint8Array {
    return this.#kept?.subarray(0, this.#keptBytes) ?? NOTHING;
  }

  /** The peer sends nothing more: what that means for the answer, undefined where its head is not complete. */
  ended(): AnswerState | undefined {
    return this.head === undefined ? undefined : BROKEN_BODY;
  }

  /** @param seen - so many of the bytes were here before */
  #unfinishedHead(bytes: Buffer, seen: number): AnswerState {
    if (bytes.length > MAX_HEAD_BYTES) return { kind: 'bad', reason: 'head_too_large' };
    const start = bytes.toString('latin1', 0, START.length);
    const added = bytes.toString('latin1', Math.max(0, seen - 1));
    // Told at once, and not at the deadline, when this is no HTTP or its lines end otherwise.
    const isHttp = START.startsWith(start) && !/[^\r]\n/u.test(added);
    if (!isHttp) return { kind: 'bad', reason: 'bad_response' };
    // A copy, if it is none yet: the chunk is a view of a larger buffer that would stay alive with it.
    this.#headBytes = seen > 0 ? bytes : Buffer.from(bytes);
    return READING;
  }

  #begin(
    { head, framing, reusable }: Extract<ParsedHead, { ok: true }>,
    rest: Buffer,
  ): AnswerState {
    this.head = head;
    this.#reusable = reusable;
    switch (framing.kind) {
      case 'none':
        return this.#whole(rest.length);
      case 'length':
        this.#state = 'data';
        this.#left = framing.bytes;
        if (framing.bytes === 0) return this.#whole(rest.length);
        break;
      case 'chunked':
        this.#chunked = true;
        this.#state = 'size';
        break;
      case 'until_close':
        this.#state = 'until_close';
        break;
    }
    return rest.length === 0 ? READING : this.#readBody(rest);
  }

  #whole(bytesBehind: number): AnswerState {
    // What comes behind an answer belongs to none: such a connection must not be asked again.
    return { kind: 'answered', whole: this.#reusable && bytesBehind === 0 };
  }

  #readBody(bytes: Buffer): AnswerState {
    const within = bytes.subarray(0, MAX_BODY_BYTES - this.#bodyBytes);
    const state = this.#readWithin(within);
    this.#bodyBytes += within.length;
    return within.length < bytes.length ? BROKEN_BODY : state;
  }

  #readWithin(bytes: Buffer): AnswerState {
    let at = 0;
    while (at < bytes.length) {
      if (this.#state === 'until_close' || this.#state === 'data') {
        const room = this.#state === 'data' ? this.#left : bytes.length;
        const end = Math.min(bytes.length, at + room);
        this.#keep(bytes.subarray(at, end));
        this.#left -= end - at;
        at = end;
        if (this.#state === 'data' && this.#left === 0) {
          if (!this.#chunked) return this.#whole(bytes.length - at);
          this.#state = 'after_data';
        }
      } else {
        const step = this.#readFraming(bytes[at] ?? 0);
        at += 1;
        if (step === 'broken') return BROKEN_BODY;
        if (step === 'over') return this.#whole(bytes.length - at);
      }
    }
    return READING;
  }

  /** One byte of what stands between the data of chunks (RFC 9112 §7.1). */
  #readFraming(byte: number): 'on' | 'over' | 'broken' {
    // Whoever ends a line at a lone CR or LF, and whoever does not, read other chunks.
    if (this.#afterCr !== (byte === LF)) return 'broken';
    this.#afterCr = byte === CR;
    switch (this.#state) {
      case 'size':
        return this.#readSize(byte);
      case 'extension':
        return byte === LF ? this.#beginChunk() : 'on';
      case 'after_data':
        if (byte === LF) this.#state = 'size';
        return byte === LF || byte === CR ? 'on' : 'broken';
      case 'trailer':
        return this.#readTrailer(byte);
      case 'data':
      case 'until_close':
        return 'broken';
    }
  }

  #readTrailer(byte: number): 'on' | 'over' {
    if (byte === LF) {
      if (this.#trailerLineBytes === 0) return 'over';
      this.#trailerLineBytes = 0;
    } else if (byte !== CR) {
      this.#trailerLineBytes += 1;
      // Seldom, and not judged here: such a connection has carried its last answer.
      this.#reusable = false;
    }
    return 'on';
  }

  #readSize(byte: number): 'on' | 'broken' {
    const digit = hexDigit(byte);
    if (digit >= 0) {
      this.#size = this.#size * 16 + digit;
      this.#sizeDigits += 1;
      return this.#sizeDigits > MAX_SIZE_DIGITS ? 'broken' : 'on';
    }
    // Behind it a CR, or an extension, of which nothing is wanted.
    if (this.#sizeDigits === 0 || !BEHIND_SIZE.has(byte)) return 'broken';
    this.#state = 'extension';
    return 'on';
  }

  #beginChunk(): 'on' {
    this.#left = this.#size;
    this.#size = 0;
    this.#sizeDigits = 0;
    this.#state = this.#left === 0 ? 'trailer' : 'data';
    return 'on';
  }

  #keep(bytes: Uint8Array): void {
    const kept = bytes.subarray(0, KEPT_BODY_BYTES - this.#keptBytes);
    if (kept.length === 0) return;
    // Copied: the chunk is a view of a larger buffer that would stay alive with it.
    if (this.#kept === undefined) {
      this.#kept = new Uint8Array(kept);
    } else {
      if (this.#kept.length < KEPT_BODY_BYTES) {
        const whole = new Uint8Array(KEPT_BODY_BYTES);
        whole.set(this.#kept);
        this.#kept = whole;
      }
      this.#kept.set(kept, this.#keptBytes);
    }
    this.#keptBytes += kept.length;
  }
}

/** Its value, −1 where it is none. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
