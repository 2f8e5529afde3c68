import type { SmtpReply } from './mail-catcher.js';

/** RFC 5322, 2.1.1, and RFC 5321, 4.5.3.1.6: without the line's end. */
export const MOST_LINE_BYTES = 998;
/** What some relays have room for. */
export const MOST_HEADER_BYTES = 4_096;

/** The bytes of a mail's head, with the line ends. */
export function headerBytes(raw: Buffer): number {
  const end = raw.indexOf('\r\n\r\n');
  return end < 0 ? raw.length : end + 2;
}

/** What a strict relay says to a mail; undefined: it takes it. */
export function refusedByLimits(raw: Buffer): SmtpReply | undefined {
  const longest = Math.max(
    ...raw
      .toString('latin1')
      .split('\r\n')
      .map(({ length }) => length),
  );
  if (longest > MOST_LINE_BYTES) {
    return { code: 554, text: `5.6.0 A line has ${longest} bytes, ${MOST_LINE_BYTES} at most` };
  }
  const head = headerBytes(raw);
  if (head > MOST_HEADER_BYTES) {
    return { code: 554, text: `5.6.0 The header has ${head} bytes, ${MOST_HEADER_BYTES} at most` };
  }
  return undefined;
}
