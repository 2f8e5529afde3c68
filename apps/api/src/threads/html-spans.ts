const COMMENT_START = '<!--';
const COMMENT_END = '-->';

// All sticky, and each begins with what ends the one before: no character is looked at more than a few times.
const TAG_NAME = /<([a-z][a-z0-9-]*)/iy;
const ATTRIBUTE = /\s+[a-z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?/iy;
const TAG_END = /\s*\/?>/y;
const CLOSING_TAG = /<\/[a-z][a-z0-9-]*\s*>/iy;
const AUTOLINK = /<[a-z][a-z0-9+.-]{1,31}:[^\s<>]*>/iy;

/** Elements whose text is code, and where they end. No object: `<constructor>` is a property of each. */
const CODE_ENDS: ReadonlyMap<string, RegExp> = new Map([
  ['code', /<\/code\s*>/gi],
  ['pre', /<\/pre\s*>/gi],
  ['script', /<\/script\s*>/gi],
  ['style', /<\/style\s*>/gi],
  ['textarea', /<\/textarea\s*>/gi],
  ['tt', /<\/tt\s*>/gi],
]);

/**
 * The HTML of a paragraph (CommonMark, 6.5 and 6.6): comments, tags, links in angle brackets, and elements
 * for code with all that is in them.
 */
export class HtmlSpans {
  private readonly text: string;
  /** False once a comment had no end: none that begins later has. */
  private commentsEnd = true;

  constructor(text: string) {
    this.text = text;
  }

  /** Where to go on from a "<": behind what it begins, or behind itself when that is no HTML. */
  after(at: number): number {
    return this.afterComment(at) ?? this.afterTag(at) ?? this.matchEnd(AUTOLINK, at) ?? at + 1;
  }

  private afterComment(at: number): number | null {
    if (!this.commentsEnd || !this.text.startsWith(COMMENT_START, at)) return null;
    const end = this.text.indexOf(COMMENT_END, at);
    this.commentsEnd = end !== -1;
    return this.commentsEnd ? end + COMMENT_END.length : null;
  }

  private afterTag(at: number): number | null {
    TAG_NAME.lastIndex = at;
    const name = TAG_NAME.exec(this.text)?.[1];
    if (name === undefined) return this.matchEnd(CLOSING_TAG, at);
    let end = TAG_NAME.lastIndex;
    for (let next: number | null = end; next !== null; next = this.matchEnd(ATTRIBUTE, end)) {
      end = next;
    }
    const tag = this.matchEnd(TAG_END, end);
    const close = CODE_ENDS.get(name.toLowerCase());
    if (tag === null || close === undefined) return tag;
    // An element that nothing closes ends with its paragraph.
    return this.matchEnd(close, tag) ?? this.text.length;
  }

  private matchEnd(pattern: RegExp, at: number): number | null {
    pattern.lastIndex = at;
    return pattern.test(this.text) ? pattern.lastIndex : null;
  }
}
