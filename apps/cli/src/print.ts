import type { Context } from './context.js';

const GAP = '  ';

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

/** Prints a list for a person, or as JSON for a program. */
export function printList<Row>(
  context: Context,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { json = false, empty }: { json?: boolean | undefined; empty: string },
): void {
  if (json) printJson(context, rows);
  else if (rows.length === 0) context.note(empty);
  else context.print(formatTable(columns, rows));
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

function width(text: string | undefined): number {
  return text === undefined ? 0 : [...text].length;
}
