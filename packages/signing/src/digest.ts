import { type BinaryLike, createHmac } from 'node:crypto';

/** A body as it goes over the wire: text stands for its UTF-8 bytes. */
export type WireBody = string | Uint8Array;

/**
 * HMAC-SHA256 over `<prefix><body>`, 32 bytes. A string's UTF-8 bytes are taken, a lone surrogate
 * as U+FFFD: the same bytes that `Buffer.from(body)` sends.
 */
export function digest(key: BinaryLike, prefix: string, body: WireBody): Buffer {
  return createHmac('sha256', key).update(prefix).update(body).digest();
}
