import type { Summary } from './summary.js';
import { TITLES } from './titles.js';

const HEAD = [
  'contender',
  'jobs/s',
  'CPU-ms a job: worker',
  'store',
  'receiver',
  'p50, ms',
  'p99, ms',
  'MB at most',
  'MB after',
];

/** The medians as Markdown; also what is printed. */
export function markdownTable(summaries: readonly Summary[]): string {
  const rows = [HEAD, ...summaries.map(cells)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => {
    const padded = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    return `| ${padded.join(' | ')} |`;
  };
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(HEAD), line(rule), ...rows.slice(1).map(line)].join('\n');
}

function cells(one: Summary): string[] {
  return [
    TITLES[one.contender],
    Math.round(one.jobsPerSecond).toLocaleString('en'),
    one.workerCpuMs.toFixed(3),
    decimals(one.storeCpuMs, 3),
    one.receiverCpuMs.toFixed(3),
    decimals(one.p50Ms, 1),
    decimals(one.p99Ms, 1),
    String(Math.round(one.memoryMostMb)),
    String(Math.round(one.memoryMb)),
  ];
}

function decimals(value: number | null, digits: number): string {
  return value === null ? '–' : value.toFixed(digits);
}
