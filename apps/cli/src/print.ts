import type { Context } from './context.js';

const GAP = '  ';
const MARK = /\p{M}/u;
// The ranges of Unicode's EastAsianWidth.txt that are W or F and occur in names.
const WIDE =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}/u;

export interface Column<Row> {
  title: string;
  cell: (row: Row) => string | number | null;
}

/** Rows under their titles, as wide as they need to be; the last column is not padded. */
export function formatTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const lines = [
    columns.map((column) => column.title),
    ...rows.map((row) => columns.map(({ cell }) => oneLine(String(cell(row) ?? '')))),
  ];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => width(line[index]))));
  return lines
    .map((line) =>
      line
        .map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - width(cell)))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n');
}

interface ListWords {
  json?: boolean | undefined;
  /** What is said of an empty list. */
  empty: string;
  /** How to get what comes after these rows, if anything does. */
  more?: string | undefined;
}

/** Prints a list for a person, or as JSON for a program. */
export function printList<Row>(
  context: Context,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { json = false, empty, more }: ListWords,
): void {
  if (json) printJson(context, rows);
  else if (rows.length === 0) context.note(empty);
  else context.print(formatTable(columns, rows));
  if (more !== undefined) context.note(`… ${rows.length} shown; ${more}`);
}

export function printJson(context: Context, value: unknown): void {
  context.print(JSON.stringify(value, null, 2));
}

/** UTC, to the second. */
export function formatTime(time: Date | null): string {
  return time === null ? '' : `${time.toISOString().slice(0, 19).replace('T', ' ')}Z`;
}

/** What others wrote must neither break a line nor steer the terminal. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}

/** Columns of the terminal: letters of East Asia and emoji take two, marks on a letter none. */
function width(text: string | undefined): number {
  let columns = 0;
  for (const character of text ?? '')
    columns += MARK.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return columns;
}
