import MarkdownIt from 'markdown-it';
import sanitize from 'sanitize-html';

import { escapeHtml } from '../../mail-links/link-page.js';
import { cutText } from './cut-text.js';

/** What is read of a text: longer ones are cut, for a parse takes time that grows with the square of some. */
const MOST_SOURCE_BYTES = 16 * 1024;
/** Signs and line ends that are read: parsing pays for them, 16 KiB of nothing else took 246 ms. Program code has fewer. */
const MOST_SIGNS = 3_072;
/** With the text beside it, both in base64, a mail stays below the 102 KB at which large providers hide the rest. */
const MOST_HTML_BYTES = 40 * 1024;
/** More cells hardly fit. Rows may leave cells out, so that few bytes of a table make many: it is shown as it was typed. */
const MOST_CELLS = 2_000;
/** A text whose HTML is too long is cut to what fits, and some less, for its parts differ. */
const CUT_FURTHER = 0.8;
/** A text whose blocks stand deeper in each other is shown as it was typed: the parser would leave out what is in them. */
const MOST_NESTING = 50;

/**
 * Tags that say how a text is meant. None loads anything, takes input, or reaches out of the text's place: the mail's own
 * places are of other tags, for `<li><div><li></li></div></li>` ends the div around it in browsers, though it is balanced.
 */
const TAGS = [
  ...['a', 'b', 'blockquote', 'br', 'code', 'dd', 'del', 'details', 'dl', 'dt', 'em'],
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'i', 'ins', 'kbd', 'li', 'ol', 'p', 'pre', 'q'],
  ...['s', 'samp', 'span', 'strong', 'sub', 'summary', 'sup', 'table', 'tbody', 'td', 'tfoot'],
  ...['th', 'thead', 'tr', 'ul', 'var'],
];
/** What stands in them is no text for readers. */
const HIDDEN_TAGS = [
  ...['script', 'style', 'textarea', 'option', 'noscript', 'title', 'svg', 'math', 'template'],
  ...['iframe', 'object', 'noembed', 'noframes', 'xmp', 'head'],
];
const NO_TEXT = 'no text';
const PRE_TAGS = '<pre></pre>';
// What Markdown, HTML or links are made of.
const SIGN = /[!-&*+\-/:-@[-`{-~\n]|\.(?=\w)/gu;
// Either may stand in quotes and lists.
const BLANK_LINE = /^[\s>]*$/u;
const RULED_LINE = /^[\s>*+\d.)|:-]+$/u;
const ALIGNED = /^text-align:(left|right|center)$/u;

export interface RenderedMarkdown {
  html: string;
  /** Not all of the text is in it. */
  cut: boolean;
}

/**
 * Markdown (CommonMark, GitHub's tables and strikethrough, line ends kept) as HTML for a mail: what it links to is absolute,
 * nothing in it runs or loads, so an image is a link to it. At most 40 KiB.
 * @param page - URL of the page that shows the text: relative links are relative to it
 */
export function renderMarkdown(source: string, page: string): RenderedMarkdown {
  const bytesCut = cutText(source, MOST_SOURCE_BYTES);
  const first = cutAtSigns(bytesCut.text);
  const isCut = bytesCut.cut || first !== bytesCut.text;
  const whole = safeHtml(first, page);
  if (typeof whole === 'string' && Buffer.byteLength(whole) <= MOST_HTML_BYTES) {
    return { html: whole, cut: isCut };
  }
  if (whole !== null) {
    const bytes = typeof whole === 'string' ? Buffer.byteLength(whole) : whole.bytes;
    const share = Math.min(1, (CUT_FURTHER * MOST_HTML_BYTES) / bytes);
    const less = cutText(first, Math.floor(Buffer.byteLength(first) * share)).text;
    const html = safeHtml(less, page);
    if (typeof html === 'string' && Buffer.byteLength(html) <= MOST_HTML_BYTES) {
      return { html, cut: true };
    }
  }
  // As it was typed: escaped it is six times as long at most.
  const plain = cutText(first, Math.floor(MOST_HTML_BYTES / 6) - PRE_TAGS.length);
  const pre = PRE_TAGS.replace('><', () => `>${escapeHtml(plain.text)}<`);
  return { html: pre, cut: isCut || plain.cut };
}

/** The text up to the sign that is one too many. */
function cutAtSigns(text: string): string {
  let left = MOST_SIGNS;
  for (const { index } of text.matchAll(SIGN)) {
    left -= 1;
    if (left < 0) return text.slice(0, index);
  }
  return text;
}

/** Null: it is nested too deeply. Its length alone: it is too long already before it is made safe, which takes as long as to make it. */
function safeHtml(text: string, page: string): string | { bytes: number } | null {
  const parser = cellsAtMost(text) > MOST_CELLS ? withoutTables : withTables;
  const seen: { deepest?: number } = {};
  const html = parser.render(text, seen);
  if ((seen.deepest ?? 0) >= MOST_NESTING - 1) return null;
  const bytes = Buffer.byteLength(html);
  return bytes > MOST_HTML_BYTES ? { bytes } : sanitize(html, sanitizing(page));
}

/** Every line that follows a table's second is a row of it, up to a blank one. */
function cellsAtMost(text: string): number {
  let cells = 0;
  let columns = 0;
  for (const line of text.split('\n')) {
    if (BLANK_LINE.test(line)) columns = 0;
    else if (line.includes('-') && RULED_LINE.test(line))
      columns = Math.max(columns, line.split('|').length);
    cells += columns;
  }
  return cells;
}

const withTables = makeParser();
const withoutTables = makeParser().disable('table');

function makeParser() {
  const parser = new MarkdownIt({
    ...{ html: true, linkify: true, breaks: true },
    maxNesting: MOST_NESTING,
  });
  // Links are made absolute, and so encoded, once they are safe: twice was a third of the time of a text of addresses.
  parser.normalizeLink = (url) => url;
  parser.normalizeLinkText = (url) => url;
  parser.core.ruler.push('note_depth', ({ tokens, env }) => {
    env['deepest'] = tokens.reduce((most, { level }) => Math.max(most, level), 0);
  });
  parser.core.ruler.push('note_images_in_links', ({ tokens }) => {
    for (const { children } of tokens) {
      let links = 0;
      for (const token of children ?? []) {
        if (token.type.startsWith('link_')) links += token.nesting;
        if (token.type === 'image') token.meta = { inLink: links > 0 };
      }
    }
  });
  // An image that loads tells its server who reads the mail, and when.
  parser.renderer.rules['image'] = (tokens, index) => {
    const token = tokens[index];
    const label = `[image: ${escapeHtml(token?.content || NO_TEXT)}]`;
    const source = token?.attrGet('src');
    if (token?.meta?.['inLink'] === true || !source) return label;
    return `<a href="${escapeHtml(String(source))}">${label}</a>`;
  };
  return parser;
}

function sanitizing(page: string): sanitize.IOptions {
  const aligned = (tagName: string, { style = '' }: sanitize.Attributes): sanitize.Tag => {
    const align = ALIGNED.exec(style)?.[1];
    return { tagName, attribs: align === undefined ? {} : { align } };
  };
  return {
    allowedTags: TAGS,
    allowedAttributes: { a: ['href'], td: ['align'], th: ['align'], ol: ['start'] },
    allowedSchemes: ['http', 'https', 'mailto'],
    allowProtocolRelative: false,
    nonTextTags: HIDDEN_TAGS,
    nestingLimit: MOST_NESTING,
    transformTags: {
      div: 'p',
      td: aligned,
      th: aligned,
      a: (tagName, { href }) => {
        const absolute = href === undefined ? null : absoluteUrl(href, page);
        return { tagName, attribs: absolute === null ? {} : { href: absolute } };
      },
      img: (_tagName, { alt }) => ({
        tagName: 'span',
        attribs: {},
        text: `[image: ${alt || NO_TEXT}]`,
      }),
    },
  };
}

function absoluteUrl(href: string, page: string): string | null {
  try {
    return new URL(href, page).href;
  } catch {
    return null;
  }
}
