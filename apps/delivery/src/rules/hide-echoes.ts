import type { AttemptFacts } from '@ghost/contract';

import { REDACTED } from './stored-response.js';

/** Shorter parts of a value are no keys, and stand in many an answer by chance. */
const LEAST_CHARACTERS = 8;
/**
 * Of the words of all values the longest that are looked for: each takes up to 0.16 ms (measured), and an owner who gave
 * hundreds held up everybody else for 70 ms with each answer.
 */
const MOST_WORDS = 32;
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  apos: "'",
  gt: '>',
  lt: '<',
  quot: '"',
};

type Range = [start: number, end: number];

/** How an answer may write a character, and which one it means. */
interface Escapes {
  pattern: RegExp;
  meant: (match: RegExpMatchArray) => string;
}

const ofCode = (digits: string, radix: number) =>
  String.fromCharCode(Number.parseInt(digits, radix));
const ESCAPES: readonly Escapes[] = [
  {
    // JSON: PHP escapes the slash, others all that HTML minds.
    pattern: /\\(?:u([0-9a-f]{4})|(.))/giu,
    meant: ([, hex, one = '']) => (hex ? ofCode(hex, 16) : one === 't' ? '\t' : one),
  },
  {
    // URLs and forms.
    pattern: /%([0-9a-f]{2})|\+/giu,
    meant: ([, hex]) => (hex ? ofCode(hex, 16) : ' '),
  },
  {
    // HTML.
    pattern: /&(?:#(\d{1,5})|#x([0-9a-f]{1,4})|(amp|apos|gt|lt|quot));/giu,
    meant: ([, decimal, hex, name = '']) =>
      decimal ? ofCode(decimal, 10) : hex ? ofCode(hex, 16) : (ENTITIES[name.toLowerCase()] ?? ''),
  },
];

/**
 * Facts of an answer without the values of the owner's own headers: some receivers answer with what they got, and
 * what is sealed at rest must not stand in the history in plain text. Whole values and their words (`Bearer …`) are
 * hidden, as they are and as JSON, URLs and HTML escape them, also one that the end of what is kept cuts.
 */
export function hideEchoes(
  facts: AttemptFacts,
  own: readonly (readonly [name: string, value: string])[],
): AttemptFacts {
  // Most hooks have none: the sets below, made of nothing, were 2 % of the worker's garbage (measured).
  if (own.length === 0) return facts;
  const parts = partsOf(own.map(([, value]) => value));
  if (parts.length === 0) return facts;
  const hidden: AttemptFacts = Object.assign({}, facts);
  if (facts.bodyExcerpt !== undefined) {
    hidden.bodyExcerpt = hideCut(hide(facts.bodyExcerpt, parts), parts);
  }
  if (facts.responseHead !== undefined) {
    hidden.responseHead = Object.fromEntries(
      Object.entries(facts.responseHead).map(([name, value]) => [name, hide(value, parts)]),
    );
  }
  return hidden;
}

function partsOf(values: readonly string[]): string[] {
  const words = longEnough(values.flatMap((value) => value.split(/[\t ]+/u)));
  if (words.length > MOST_WORDS) words.sort((a, b) => b.length - a.length);
  return [...new Set([...longEnough(values), ...words.slice(0, MOST_WORDS)])];
}

function longEnough(parts: readonly string[]): string[] {
  return [...new Set(parts)].filter((part) => part.length >= LEAST_CHARACTERS);
}

function hide(text: string, parts: readonly string[]): string {
  const ranges = placesOf(parts, text);
  for (const escapes of ESCAPES) {
    const read = readWith(escapes, text);
    if (read === null) continue;
    for (const [start, end] of placesOf(parts, read.plain)) {
      ranges.push([read.starts[start] ?? 0, read.starts[end] ?? text.length]);
    }
  }
  ranges.sort(([a], [b]) => a - b);
  let left = '';
  let from = 0;
  for (const [start, end] of ranges) {
    // A word within the whole value, or the same place read in another way.
    if (start >= from) left += text.slice(from, start) + REDACTED;
    from = Math.max(from, end);
  }
  return left + text.slice(from);
}

function placesOf(parts: readonly string[], text: string): Range[] {
  const places: Range[] = [];
  for (const part of parts) {
    for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) {
      places.push([at, at + part.length]);
    }
  }
  return places;
}

/** The text that is meant, and where each character of it begins in what was written; null where nothing is escaped. */
function readWith({ pattern, meant }: Escapes, text: string) {
  let plain = '';
  const starts: number[] = [];
  const keep = (written: string, start: number, step: 0 | 1) => {
    plain += written;
    for (let index = 0; index < written.length; index += 1) starts.push(start + index * step);
  };
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    keep(text.slice(from, match.index), from, 1);
    keep(meant(match), match.index, 0);
    from = match.index + match[0].length;
  }
  if (from === 0) return null;
  keep(text.slice(from), from, 1);
  return { plain, starts };
}

/** What is kept of a body may end within a value. */
function hideCut(text: string, parts: readonly string[]): string {
  for (const part of parts) {
    for (let length = part.length - 1; length >= LEAST_CHARACTERS; length -= 1) {
      if (text.endsWith(part.slice(0, length))) return text.slice(0, -length) + REDACTED;
    }
  }
  return text;
}
