import { expect, test } from 'vitest';

import { chartSvg } from './chart.js';
import { summarize } from './summary.js';
import { markdownTable } from './table.js';
import { roundOf } from './test-rounds.js';

test('a contender is summed up by the medians of its rounds', () => {
  const rounds = [3_000, 9_000, 5_000].map((speed) => roundOf('ours', speed));
  expect(summarize(rounds)).toMatchObject([{ contender: 'ours', rounds: 3, jobsPerSecond: 5_000 }]);
});

test('the table has a row a contender, and a dash for what it has not', () => {
  const table = markdownTable(summarize([roundOf('ours', 6_543), roundOf('raw', 12_000, null)]));
  const rows = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  expect(rows.map((row) => row.length)).toEqual([11, 11, 11, 11]);
  expect(rows[2]).toContain('6,543');
  expect(rows[3]?.filter((cell) => cell === '–')).toHaveLength(3);
});

test('the chart has a bar for each figure, as long as it is great, in both themes', () => {
  const summaries = summarize([roundOf('ours', 6_000), roundOf('raw', 12_000, null)]);
  const svg = chartSvg(summaries, '2 cores & "a" <b>');
  const widths = [...svg.matchAll(/<rect [^>]*width="(\d+)"/gu)].map((match) => Number(match[1]));
  expect(widths).toHaveLength(3);
  expect((widths[1] ?? 0) / (widths[0] ?? 1)).toBeCloseTo(2, 1);
  expect(svg).toContain('prefers-color-scheme: dark');
  expect(svg).toContain('2 cores &amp; "a" &lt;b&gt;');
});
