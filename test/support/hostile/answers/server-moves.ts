import type { HostileCase } from './hostile-case.js';

type Play = HostileCase['play'];

/** What an endless answer writes at once. */
const FLOOD_CHUNK_BYTES = 64 * 1024;
/** An endless answer stops here, so that a reader without a bound ends too: the case then fails by its deadline. */
const FLOOD_MOST_BYTES = 256 * 1024 * 1024;

const POURED_MOST_BYTES = 100_000;

/** Bytes as they are: each character is one, up to U+00FF. */
export const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

/** A head of these lines. */
export const head = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`;

export const OK = 'HTTP/1.1 200 OK';

/** Says it and stays connected. */
export const says =
  (...texts: string[]): Play =>
  (socket) => {
    for (const text of texts) socket.write(bytesOf(text));
  };

/** Says it and closes its side. */
export const saysAndEnds =
  (text: string): Play =>
  (socket) => {
    socket.end(bytesOf(text));
  };

/** Says it, and resets the connection when the peer has had time to read it. */
export const saysAndResets =
  (text: string): Play =>
  (socket) => {
    if (text === '') socket.resetAndDestroy();
    else socket.write(bytesOf(text), () => setTimeout(() => socket.resetAndDestroy(), 20));
  };

/** Says it, and is gone when the peer has had time to read it. */
export const saysAndBreaksOff =
  (text: string): Play =>
  (socket) => {
    socket.write(bytesOf(text), () => setTimeout(() => socket.destroy(), 20));
  };

/** Says `start`, then `text` byte by byte, over and over. */
export const drips =
  (start: string, text: string): Play =>
  (socket, { dripMs }) => {
    socket.write(bytesOf(start));
    let index = 0;
    const timer = setInterval(() => {
      socket.write(bytesOf(text[index % text.length] ?? ''));
      index += 1;
    }, dripMs);
    socket.on('close', () => clearInterval(timer));
  };

/** Says `start`, then `text` over and over as fast as it is read. */
export const floods =
  (start: string, text: string): Play =>
  (socket) => {
    const chunk = bytesOf(text.repeat(Math.ceil(FLOOD_CHUNK_BYTES / text.length)));
    let written = 0;
    const pour = () => {
      while (!socket.destroyed && written < FLOOD_MOST_BYTES) {
        written += chunk.length;
        if (!socket.write(chunk)) return;
      }
    };
    socket.on('drain', pour);
    socket.write(bytesOf(start));
    pour();
  };

/** Says `start`, then `text` over and over in small pieces, each as soon as the one before may have been read. */
export const pours =
  (start: string, text: string): Play =>
  (socket) => {
    socket.setNoDelay(true);
    socket.write(bytesOf(start));
    const piece = bytesOf(text);
    let poured = 0;
    const pour = () => {
      if (socket.destroyed || poured > POURED_MOST_BYTES) return;
      socket.write(piece);
      poured += piece.length;
      setImmediate(pour);
    };
    pour();
  };
