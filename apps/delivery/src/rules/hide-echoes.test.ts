import { expect, test } from 'vitest';

import { hideEchoes } from './hide-echoes.js';

const OWN = [
  ['authorization', 'Bearer of-nobody-else'],
  ['x-quoted', 'a "quoted" key'],
  ['x-short', 'ok'],
] as const;
const FACTS = { startedAt: '2026-11-30T00:00:00.000Z', timings: { total: 1 } };

test('what a receiver echoes of the owner’s headers is hidden, whole, by its words and in JSON', () => {
  const bodyExcerpt = `${JSON.stringify(Object.fromEntries(OWN))} token=of-nobody-else "a "quoted" key"`;
  const hidden = hideEchoes(
    { ...FACTS, bodyExcerpt, responseHead: { 'x-echo': 'Bearer of-nobody-else', x: 'ok' } },
    OWN,
  );
  expect(hidden.bodyExcerpt).toBe(
    '{"authorization":"[redacted]","x-quoted":"[redacted]","x-short":"ok"} token=[redacted] "[redacted]"',
  );
  expect(hidden.responseHead).toEqual({ 'x-echo': '[redacted]', x: 'ok' });
});

test('without own headers, or an answer, facts stay as they are', () => {
  const facts = { ...FACTS, bodyExcerpt: 'Bearer of-nobody-else' };
  expect(hideEchoes(facts, [])).toBe(facts);
  expect(hideEchoes(facts, [['x-short', 'ok']])).toBe(facts);
  expect(hideEchoes(FACTS, OWN)).toEqual(FACTS);
});
