import type { ReportRow } from './verify.js';

const GAP = '  ';
const COLUMNS: { title: string; cell: (row: ReportRow) => string }[] = [
  { title: 'event', cell: (row) => row.event },
  { title: 'text', cell: (row) => row.source },
  { title: 'to', cell: (row) => row.target },
  { title: 'status', cell: (row) => row.status },
  { title: 'attempts', cell: (row) => row.attempts },
  { title: 'verified', cell: (row) => row.verified },
];
const MAX_CELL = 48;

/** Who got what, a line each; event and text are named once. */
export function formatReport(rows: readonly ReportRow[]): string {
  const cells = rows.map((row, index) => {
    const repeated = rows[index - 1]?.event === row.event;
    return COLUMNS.map(({ title, cell }) =>
      repeated && (title === 'event' || title === 'text') ? '' : cut(cell(row)),
    );
  });
  const lines = [COLUMNS.map((column) => column.title), ...cells];
  const widths = COLUMNS.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n');
}

function cut(text: string): string {
  return text.length <= MAX_CELL ? text : `${text.slice(0, MAX_CELL - 1)}…`;
}
