const CODE_INDENT_COLUMNS = 4;
const TAB_COLUMNS = 4;
const LINE_END = /\r\n|\n|\r/u;

// All sticky and without nested repeats: each looks at a character a bounded number of times.
const LIST_MARKER = /(?:[-+*]|\d{1,9}[.)])(?=[ \t]|$)/y;
const FENCE = /(`{3,}|~{3,})([^\n]*)/y;
const HEADING = /#{1,6}(?=[ \t]|$)/y;
// `***`, also with blanks between; `---` and `===` under a paragraph make a heading of it.
const THEMATIC_BREAK = /(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/y;
const HEADING_UNDERLINE = /(?:=+|-+)[ \t]*$/y;

/** HTML that Markdown passes on as it stands, blank lines too, until its end: where it starts and ends. */
const RAW_HTML = [
  { start: /<!--/y, end: /-->/g },
  {
    start: /<(?:pre|script|style|textarea)(?=[ \t>]|$)/iy,
    end: /<\/(?:pre|script|style|textarea)>/gi,
  },
] as const;

const BLOCK_STARTS = [
  LIST_MARKER,
  FENCE,
  HEADING,
  THEMATIC_BREAK,
  ...RAW_HTML.map(({ start }) => start),
];

/**
 * The paragraphs and headings of a Markdown text: what is left of it without fenced and indented code, HTML
 * comments, `<pre>` and its like, and the marks of quotes and lists. The blocks are those of CommonMark 0.31 as far as they hide
 * text. Takes time in proportion to the text: the parsers that were tried instead (micromark 4) take 8 s for
 * 65,536 characters of `> `.
 */
export function* proseOf(text: string): Generator<string> {
  const reader = new ProseReader();
  for (const line of text.split(LINE_END)) yield* reader.read(new Line(line));
  yield* reader.end();
}

/** What the lines are inside of, and show nothing of. */
type Hidden =
  | { by: 'nothing' }
  | { by: 'html'; end: RegExp }
  /** `column` is where the list item around it begins: a line before it ends the fence. */
  | { by: 'fence'; mark: string; length: number; column: number };

const SHOWN: Hidden = { by: 'nothing' };

class ProseReader {
  private prose: string[] = [];
  private quotes = 0;
  /** Where the contents of the list items around begin. */
  private columns: number[] = [];
  private hidden: Hidden = SHOWN;
  /** Whether the line goes on with a paragraph of a quote without its mark. */
  private lazy = false;

  /** Reads a line; gives the blocks that end with it or before it. */
  *read(line: Line): Generator<string> {
    yield* this.enterQuotes(line);
    if (this.hides(line)) return;
    if (line.blank || this.isUnderline(line)) {
      yield* this.end();
      return;
    }
    // A paragraph goes on over lines that are not indented as its list item is.
    if (this.prose.length === 0 || line.startsBlock()) this.leaveLists(line);
    if (this.isCode(line)) {
      // Code does not interrupt a paragraph.
      if (this.prose.length > 0) this.prose.push(line.rest);
      return;
    }
    if (line.matches(LIST_MARKER) && !line.matches(THEMATIC_BREAK)) {
      yield* this.end();
      this.enterLists(line);
      if (this.isCode(line)) return;
    }
    yield* this.readBlock(line);
  }

  /** Gives the paragraph that is open. */
  *end(): Generator<string> {
    if (this.prose.length > 0) yield this.prose.join('\n');
    this.prose = [];
  }

  private *enterQuotes(line: Line): Generator<string> {
    // In code, marks beyond those of the quotes around it are part of it.
    const most = this.hidden.by === 'nothing' ? Number.POSITIVE_INFINITY : this.quotes;
    const depth = line.skipQuotes(most);
    this.lazy = depth < this.quotes && this.prose.length > 0 && !line.blank && !line.startsBlock();
    if (depth === this.quotes || this.lazy) return;
    yield* this.end();
    this.quotes = depth;
    this.columns = [];
    this.hidden = SHOWN;
  }

  private hides(line: Line): boolean {
    const { hidden } = this;
    if (hidden.by === 'nothing') return false;
    if (hidden.by === 'html') {
      if (!line.skipPast(hidden.end)) return true;
      this.hidden = SHOWN;
      return false;
    }
    if (!line.blank && line.column < hidden.column) {
      this.hidden = SHOWN;
      return false;
    }
    if (line.column - hidden.column < CODE_INDENT_COLUMNS && line.closes(hidden)) {
      this.hidden = SHOWN;
    }
    return true;
  }

  private leaveLists(line: Line): void {
    while (line.column < this.column) this.columns.pop();
  }

  private enterLists(line: Line): void {
    for (let at = line.skipListMarker(); at !== null; ) {
      this.columns.push(at);
      at = this.isCode(line) ? null : line.skipListMarker();
    }
  }

  private *readBlock(line: Line): Generator<string> {
    const fence = line.fence();
    const html = RAW_HTML.find(({ start }) => line.matches(start));
    if (fence !== null) {
      yield* this.end();
      this.hidden = { by: 'fence', ...fence, column: this.column };
    } else if (line.matches(HEADING)) {
      yield* this.end();
      yield line.rest;
    } else if (line.matches(THEMATIC_BREAK)) {
      yield* this.end();
    } else if (html !== undefined) {
      yield* this.end();
      if (!line.skipPast(html.end)) this.hidden = { by: 'html', end: html.end };
      else if (!line.blank) this.prose.push(line.rest);
    } else if (!line.blank) this.prose.push(line.rest);
  }

  private get column(): number {
    return this.columns.at(-1) ?? 0;
  }

  /** Whether the line makes a heading of the paragraph above it. */
  private isUnderline(line: Line): boolean {
    if (this.prose.length === 0 || this.lazy || line.column < this.column) return false;
    return !this.isCode(line) && line.matches(HEADING_UNDERLINE);
  }

  private isCode(line: Line): boolean {
    return line.column - this.column >= CODE_INDENT_COLUMNS;
  }
}

/** A line that is read from its left, with the column that tabs make. */
class Line {
  column = 0;
  private at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
    this.skipBlanks();
  }

  get blank(): boolean {
    return this.at === this.text.length;
  }

  get rest(): string {
    return this.text.slice(this.at);
  }

  match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    return pattern.exec(this.text);
  }

  matches(pattern: RegExp): boolean {
    return this.match(pattern) !== null;
  }

  /** What may end a paragraph that it does not belong to. */
  startsBlock(): boolean {
    return BLOCK_STARTS.some((pattern) => this.matches(pattern));
  }

  /** Goes on behind what a pattern (global) finds; false when that is nothing. */
  skipPast(pattern: RegExp): boolean {
    if (!this.matches(pattern)) return false;
    this.at = pattern.lastIndex;
    return true;
  }

  skipQuotes(most: number): number {
    let depth = 0;
    while (depth < most && this.column < CODE_INDENT_COLUMNS && this.text[this.at] === '>') {
      depth += 1;
      this.at += 1;
      this.column = 0;
      // One blank belongs to the marker.
      if (this.text[this.at] === ' ') this.at += 1;
      this.skipBlanks();
    }
    return depth;
  }

  /** Passes a list marker; returns the column where the item's content begins, null without one. */
  skipListMarker(): number | null {
    const marker = this.match(LIST_MARKER)?.[0];
    if (marker === undefined) return null;
    this.at += marker.length;
    this.column += marker.length;
    const after = this.column;
    this.skipBlanks();
    // More blanks than code needs are its indent; an item that begins with an empty line has one.
    const isTooFar = this.column - after > CODE_INDENT_COLUMNS || this.blank;
    return isTooFar ? after + 1 : this.column;
  }

  /** The fence that the line opens. */
  fence(): { mark: string; length: number } | null {
    const found = this.match(FENCE);
    const marks = found?.[1] ?? '';
    const mark = marks[0];
    if (mark === undefined) return null;
    // Backticks with more behind them are a code span.
    if (mark === '`' && (found?.[2] ?? '').includes('`')) return null;
    return { mark, length: marks.length };
  }

  /** Whether the line is the end of a fence. */
  closes({ mark, length }: { mark: string; length: number }): boolean {
    const found = this.match(FENCE);
    const marks = found?.[1] ?? '';
    return marks[0] === mark && marks.length >= length && (found?.[2] ?? '').trim() === '';
  }

  private skipBlanks(): void {
    for (; this.at < this.text.length; this.at += 1) {
      const character = this.text[this.at];
      if (character === '\t') this.column += TAB_COLUMNS - (this.column % TAB_COLUMNS);
      else if (character === ' ') this.column += 1;
      else return;
    }
  }
}
