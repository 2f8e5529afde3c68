export const MAX_HEAD_FIELDS = 100;

/** A complete response head; `fields` in the order they came, as Latin-1 text. */
export interface ResponseHead {
  status: number;
  fields: [string, string][];
}

/** Where the body ends (RFC 9112 §6.3). */
export type Framing =
  | { kind: 'none' }
  | { kind: 'length'; bytes: number }
  | { kind: 'chunked' }
  | { kind: 'until_close' };

export type ParsedHead =
  /** `reusable`: the peer keeps the connection open behind the body. */
  | { ok: true; head: ResponseHead; framing: Framing; reusable: boolean }
  | { ok: false; reason: 'bad_response' | 'head_too_large' };

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: .*)?$/u;
/** RFC 9110 §5.6.2. */
const NAME = /^[!#$%&'*+\-.^_`|~\dA-Za-z]+$/u;
/** In a value each becomes a space (RFC 9110 §5.5). */
const FORBIDDEN_IN_VALUE = /[\0\r]/gu;
/** Space and tab: `trim` takes more for blanks, and a length with one of those is none. */
const BLANKS = new Set([32, 9]);
/** Whoever takes it for the end of a line, and whoever does not, read two answers. */
const LONE_LF = /(?:^|[^\r])\n/u;
const FOLD = /\r\n[\t ]/u;
const FOLDED_START = /^[^\r]*\r\n[\t ]/u;
const FOLDS = /\r\n[\t ]+/gu;
/** Kept only where the peer keeps it longer than we do. */
const LEAST_KEEP_ALIVE_S = 5;

const BAD: ParsedHead = { ok: false, reason: 'bad_response' };
const TOO_LARGE: ParsedHead = { ok: false, reason: 'head_too_large' };

/**
 * Parses a head without the empty line that ends it. A field without a name, or a length that cannot be
 * trusted, makes it bad: whoever guesses where an answer ends takes the next one for it.
 */
export function parseHead(text: string): ParsedHead {
  // A value over several lines is one with a space in it (RFC 9112 §5.2); before the first field it is none.
  const lines = (FOLD.test(text) ? text.replaceAll(FOLDS, ' ') : text).split('\r\n');
  const line = STATUS_LINE.exec(lines[0] ?? '');
  if (line === null || LONE_LF.test(text) || FOLDED_START.test(text)) return BAD;
  const fields: [string, string][] = [];
  let length: string | undefined;
  let coding = '';
  let connection = '';
  let keepAlive = '';
  for (let index = 1; index < lines.length; index += 1) {
    const field = lines[index] ?? '';
    const colon = field.indexOf(':');
    const name = field.slice(0, Math.max(0, colon));
    if (!NAME.test(name)) return BAD;
    if (fields.length === MAX_HEAD_FIELDS) return TOO_LARGE;
    const value = plainValue(field.slice(colon + 1));
    fields.push([name, value]);
    // Of few lengths is a name that says something here.
    switch (name.length) {
      case 10:
        if (name.toLowerCase() === 'connection') connection += `,${value.toLowerCase()}`;
        else if (name.toLowerCase() === 'keep-alive') keepAlive = value;
        break;
      case 14:
        if (name.toLowerCase() !== 'content-length') break;
        if (!/^\d{1,15}$/u.test(value) || (length !== undefined && length !== value)) return BAD;
        length = value;
        break;
      case 17:
        if (name.toLowerCase() === 'transfer-encoding') coding += `,${value.toLowerCase()}`;
        break;
      default:
    }
  }
  const status = Number(line[2]);
  const framing = framingOf(status, length, coding);
  return {
    ok: true,
    head: { status, fields },
    framing,
    reusable:
      line[1] === '1' &&
      framing.kind !== 'until_close' &&
      // Both would be a trap for whoever reads the one or the other (RFC 9112 §6.1).
      !(coding !== '' && length !== undefined) &&
      // Of more codings, or the same one twice, it is not sure that they end where we think.
      (coding === '' || coding === ',chunked') &&
      // A body that none may have comes all the same, perhaps when the next answer is waited for.
      !(framing.kind === 'none' && (coding !== '' || Number(length ?? 0) > 0)) &&
      !/(?:^|,)\s*close\s*(?:,|$)/u.test(connection) &&
      keptLongEnough(keepAlive),
  };
}

function plainValue(raw: string): string {
  let start = 0;
  let end = raw.length;
  while (start < end && BLANKS.has(raw.charCodeAt(start))) start += 1;
  while (end > start && BLANKS.has(raw.charCodeAt(end - 1))) end -= 1;
  return raw.slice(start, end).replace(FORBIDDEN_IN_VALUE, ' ');
}

function framingOf(status: number, length: string | undefined, coding: string): Framing {
  if (status === 204 || status === 304) return { kind: 'none' };
  if (coding !== '') {
    return /,[\t ]*chunked$/u.test(coding) ? { kind: 'chunked' } : { kind: 'until_close' };
  }
  return length === undefined ? { kind: 'until_close' } : { kind: 'length', bytes: Number(length) };
}

/** `Keep-Alive: timeout=5` (RFC 2068 §19.7.1): how long the peer will keep it, in seconds. */
function keptLongEnough(keepAlive: string): boolean {
  if (keepAlive === '') return true;
  const timeout = /(?:^|[,;\s])timeout\s*=\s*"?(\d+)/iu.exec(keepAlive)?.[1];
  return timeout === undefined || Number(timeout) >= LEAST_KEEP_ALIVE_S;
}
