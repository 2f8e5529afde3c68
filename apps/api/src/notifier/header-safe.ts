import { cutText } from './mail-html/cut-text.js';

// Control characters end or forge header lines; bidi controls and invisible ones show a text as
// another; line and paragraph separators are line ends to some clients. Joiners stay: emoji and
// Persian need them.
const UNSAFE =
  /[\p{Cc}\p{Zl}\p{Zp}\u00AD\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFB]+/gu;
const SPACES = /\s+/gu;
/** Nothing that a reader sees: marks alone, and letters that are as empty as a space. */
const INVISIBLE = /^[\p{Default_Ignorable_Code_Point}\p{White_Space}\p{M}\u2800]*$/u;
/** Looks like an address, also with spaces in it: a name must not pose as one. */
const ADDRESS_LIKE = /\S@\S|\S\s*@\s*\S+\.\S|[<>]/u;
const MORE = '…';
const MORE_BYTES = Buffer.byteLength(MORE);
const LONGEST_NAME = 80;
/** Some relays have room for 4,096 bytes of header in all: 200 emoji as encoded words are 1,900 of them. */
const BYTES_A_CHARACTER = 2;

/**
 * Free text as one header line: no control, no line end, no bidi or invisible character, bounded; empty where none of it
 * would be seen.
 * @param longest - in characters, which have two bytes on average at most
 */
export function headerSafe(text: string, longest: number): string {
  const line = text
    .toWellFormed()
    .replaceAll(UNSAFE, ' ')
    // A receiver would decode what poses as an encoded word.
    .replaceAll('=?', '= ?')
    .replaceAll(SPACES, ' ')
    .trim();
  if (INVISIBLE.test(line)) return '';
  const mostBytes = longest * BYTES_A_CHARACTER;
  const { text: fits } = cutText(line, mostBytes);
  const characters = [...fits];
  if (fits === line && characters.length <= longest) return line;
  const kept = cutText(characters.slice(0, longest - 1).join(''), mostBytes - MORE_BYTES).text;
  return `${kept.trimEnd()}${MORE}`;
}

/** A person's name for a mail header; the login where the name is empty or looks like an address. */
export function personName(person: { login: string; name: string }): string {
  const name = headerSafe(person.name, LONGEST_NAME);
  // Wide and small forms of "@", "<" and ">" are read as those.
  return name === '' || ADDRESS_LIKE.test(name.normalize('NFKC')) ? person.login : name;
}
