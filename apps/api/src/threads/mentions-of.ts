import { HtmlSpans } from './html-spans.js';
import { proseOf } from './markdown-prose.js';

/** How many people one text may mention; the rest is plain text, as on GitHub. */
export const MAX_MENTIONS = 50;

// The form of a login, as the table's CHECK holds it.
const MAX_LOGIN_CHARACTERS = 39;
const LOGIN_CHARACTER = /[A-Za-z0-9-]/u;
const WORD_CHARACTER = /[\p{L}\p{N}_]/u;
const URL_START = /https?:\/\/|ftp:\/\/|www\./iy;
const URL_LETTER = /[hfw]/iu;
const URL_END = /[\s<]/u;

/**
 * Whom a Markdown text mentions: `@login`, in lower case, each once and in the order of the text, at most
 * {@link MAX_MENTIONS}. Not inside a word, an address or a URL, and not in code or in HTML's tags, comments and
 * elements for code. The rules are those of GitHub's filter (html-pipeline, MentionFilter).
 * Takes time in proportion to the text, whatever it holds.
 */
export function mentionsOf(text: string): string[] {
  if (!text.includes('@')) return [];
  const found = new Set<string>();
  for (const block of proseOf(text)) {
    scanProse(block, found);
    if (found.size >= MAX_MENTIONS) break;
  }
  return [...found].slice(0, MAX_MENTIONS);
}

/** Adds the mentions of a paragraph, with code spans, HTML and URLs passed over. */
function scanProse(text: string, found: Set<string>): void {
  const spans = new CodeSpans(text);
  const html = new HtmlSpans(text);
  let at = 0;
  while (at < text.length && found.size < MAX_MENTIONS) {
    const character = text[at];
    if (character === '`') at = spans.after(at);
    else if (character === '\\' && text[at + 1] === '`') at = spans.after(at + 1, 1);
    else if (character === '\\' && text[at + 1] === '\\') at += 2;
    else if (character === '<') at = html.after(at);
    else if (URL_LETTER.test(character ?? '') && startsUrl(text, at)) {
      while (at < text.length && !URL_END.test(text.charAt(at))) at += 1;
    } else if (character === '@') at = readMention(text, at, found);
    else at += 1;
  }
}

function startsUrl(text: string, at: number): boolean {
  URL_START.lastIndex = at;
  return URL_START.test(text) && !isWord(before(text, at));
}

/** Reads what follows an "@"; returns where to go on. */
function readMention(text: string, at: number, found: Set<string>): number {
  const start = at + 1;
  let end = start;
  while (end < text.length && LOGIN_CHARACTER.test(text.charAt(end))) end += 1;
  const login = text.slice(start, end);
  const isLogin = login !== '' && !login.startsWith('-') && login.length <= MAX_LOGIN_CHARACTERS;
  if (isLogin && !isWord(before(text, at)) && endsMention(text, end)) {
    found.add(login.toLowerCase());
  }
  return end;
}

/** `@ada/team` and `@ada.example` name something else; the dots of `@ada...` end a sentence. */
function endsMention(text: string, end: number): boolean {
  if (text[end] === '/' || isWord(after(text, end))) return false;
  let next = end;
  while (text[next] === '.') next += 1;
  return next === end || !isWord(after(text, next));
}

function isWord(character: string): boolean {
  return WORD_CHARACTER.test(character);
}

/** The code point that ends before an index; '' at the start. */
function before(text: string, at: number): string {
  const low = text.charCodeAt(at - 1);
  const paired = low >= 0xdc00 && low <= 0xdfff;
  return text.slice(Math.max(0, at - (paired ? 2 : 1)), at);
}

function after(text: string, at: number): string {
  const code = text.codePointAt(at);
  return code === undefined ? '' : String.fromCodePoint(code);
}

/**
 * Code spans of a paragraph (CommonMark, 6.1): a run of backticks is closed by the next run of the same
 * length. The runs of each length are walked once, so texts of backticks alone cost no more than others.
 */
class CodeSpans {
  private readonly ends: readonly number[];
  private readonly byLength = new Map<number, { starts: number[]; next: number }>();

  constructor(text: string) {
    const ends: number[] = [];
    for (const run of text.matchAll(/`+/gu)) {
      const { length } = run[0];
      const same = this.byLength.get(length) ?? { starts: [], next: 0 };
      same.starts.push(run.index);
      this.byLength.set(length, same);
      for (let n = 0; n < length; n += 1) ends[run.index + n] = run.index + length;
    }
    this.ends = ends;
  }

  /**
   * Where to go on from a run at `at`, of which the first `escaped` backticks are literal: behind its span,
   * or behind the run when nothing closes it.
   */
  after(at: number, escaped = 0): number {
    const end = this.ends[at] ?? at + 1;
    const length = end - at - escaped;
    const same = this.byLength.get(length);
    if (same === undefined) return end;
    while ((same.starts[same.next] ?? Number.POSITIVE_INFINITY) < end) same.next += 1;
    const close = same.starts[same.next];
    return close === undefined ? end : close + length;
  }
}
