import { expect, test } from 'vitest';

import { judge, sentenceOf } from './judge.js';
import { summarize } from './summary.js';
import { roundOf } from './test-rounds.js';

const peers = [
  roundOf('graphile-worker', 4_000, { p50Ms: 7, p99Ms: 18 }),
  roundOf('pg-boss', 3_000, { p50Ms: 5, p99Ms: 20 }),
  roundOf('bullmq', 9_000, { p50Ms: 1, p99Ms: 2 }),
];
const judged = (ours: ReturnType<typeof roundOf>, raw = 12_000) =>
  judge(summarize([ours, ...peers, roundOf('raw', raw, null)]));

test('ours is held against the best of the peers on Postgres, each figure for itself', () => {
  const checks = judged(roundOf('ours', 6_000, { p50Ms: 6, p99Ms: 21 }));
  expect(checks.map(({ ratio }) => ratio?.toFixed(3))).toEqual([
    '1.500',
    '0.500',
    '1.200',
    '1.167',
  ]);
  expect(checks.every(({ ok }) => ok)).toBe(true);
});

test.each([
  ['too few jobs a second', roundOf('ours', 5_990), 0],
  ['a median that waits too long', roundOf('ours', 6_000, { p50Ms: 6.1, p99Ms: 18 }), 2],
  ['a p99 that waits too long', roundOf('ours', 6_000, { p50Ms: 5, p99Ms: 22 }), 3],
])('%s misses the bound and nothing else', (_what, ours, place) => {
  expect(judged(ours).flatMap(({ ok }, index) => (ok ? [] : [index]))).toEqual([place]);
});

test('less than 0.45 of the raw client misses the bound', () => {
  expect(judged(roundOf('ours', 6_000), 13_400)[1]?.ok).toBe(false);
});

test('what did not run is not judged', () => {
  const checks = judge(summarize([roundOf('ours', 100)]));
  expect(checks.every(({ ok, ratio }) => ok && ratio === null)).toBe(true);
  expect(checks.map(sentenceOf).every((line) => line.startsWith('not judged'))).toBe(true);
});

test('a sentence says the ratio and its bound', () => {
  const [first] = judged(roundOf('ours', 2_000));
  expect(first && sentenceOf(first)).toBe(
    'FAILED  jobs/s, ours to the best Postgres peer: 0.50 ×, must be at least 1.5 ×',
  );
});
