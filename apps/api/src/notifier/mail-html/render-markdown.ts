import MarkdownIt from 'markdown-it';
import sanitize from 'sanitize-html';

import { escapeHtml } from '../../mail-links/link-page.js';
import { cutText } from './cut-text.js';

/** What is read of a text: longer ones are cut, for a parse takes time that grows with the square of some (24 ms here). */
const MOST_SOURCE_BYTES = 16 * 1024;
/** With the text beside it, both in base64, a mail stays below the 102 KB at which large providers hide the rest. */
const MOST_HTML_BYTES = 40 * 1024;
/** More cells do not fit anyway. Rows may leave cells out, so that few bytes of a wide table make many: it is shown as it was typed. */
const MOST_CELLS = 4_000;
/** A text whose HTML is too long is cut to what fits, and some less, for its parts differ. */
const CUT_FURTHER = 0.8;
/** A text whose blocks stand deeper in each other is shown as it was typed: the parser would leave out what is in them. */
const MOST_NESTING = 50;

/** Tags that say how a text is meant. None loads anything, takes input, or reaches out of the text's place. */
const TAGS = [
  ...['a', 'b', 'blockquote', 'br', 'code', 'dd', 'del', 'details', 'div', 'dl', 'dt', 'em'],
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
  const first = cutText(source, MOST_SOURCE_BYTES);
  const whole = safeHtml(first.text, page);
  const bytes = Buffer.byteLength(whole ?? '');
  if (whole !== null && bytes <= MOST_HTML_BYTES) return { html: whole, cut: first.cut };
  const share = Math.min(1, (CUT_FURTHER * MOST_HTML_BYTES) / bytes);
  const less = cutText(first.text, Math.floor(Buffer.byteLength(first.text) * share));
  const html = safeHtml(less.text, page);
  if (html !== null && Buffer.byteLength(html) <= MOST_HTML_BYTES) return { html, cut: true };
  // As it was typed: escaped it is six times as long at most.
  const plain = cutText(first.text, Math.floor(MOST_HTML_BYTES / 6) - PRE_TAGS.length);
  const pre = PRE_TAGS.replace('><', () => `>${escapeHtml(plain.text)}<`);
  return { html: pre, cut: first.cut || plain.cut };
}

/** Null: it is nested too deeply. */
function safeHtml(text: string, page: string): string | null {
  const parser = cellsAtMost(text) > MOST_CELLS ? withoutTables : withTables;
  const seen: { deepest?: number } = {};
  const html = parser.render(text, seen);
  return (seen.deepest ?? 0) >= MOST_NESTING - 1 ? null : sanitize(html, sanitizing(page));
}

function cellsAtMost(text: string): number {
  const lines = text.split('\n').map((line) => line.split('|').length);
  const rows = lines.filter((parts) => parts > 1).length;
  return rows * lines.reduce((most, parts) => Math.max(most, parts), 0);
}

const withTables = makeParser();
const withoutTables = makeParser().disable('table');

function makeParser() {
  const parser = new MarkdownIt({
    ...{ html: true, linkify: true, breaks: true },
    maxNesting: MOST_NESTING,
  });
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
