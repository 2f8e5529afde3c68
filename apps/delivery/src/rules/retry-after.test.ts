import fc from 'fast-check';
import { expect, test } from 'vitest';

import { LONGEST_RETRY_AFTER_MS, retryAfterMs } from './retry-after.js';

const NOW = Date.parse('2026-11-29T12:00:00Z');

test.each([
  ['120', 120_000],
  [' 5 ', 5_000],
  ['Sun, 29 Nov 2026 12:01:30 GMT', 90_000],
  ['86400', LONGEST_RETRY_AFTER_MS],
  ['9999999999', LONGEST_RETRY_AFTER_MS],
  ['99999999999999999999', LONGEST_RETRY_AFTER_MS],
  ['9'.repeat(400), LONGEST_RETRY_AFTER_MS],
  ['0000000120', 120_000],
  ['Sun, 29 Nov 2099 12:01:30 GMT', LONGEST_RETRY_AFTER_MS],
  // The two obsolete forms that a recipient must read too.
  ['Sunday, 29-Nov-26 12:01:30 GMT', 90_000],
  ['Sun Nov 29 12:01:30 2026', 90_000],
  ['Tue Dec  1 12:00:00 2026', LONGEST_RETRY_AFTER_MS],
])('%j is honoured as %d ms', (value, expected) => {
  expect(retryAfterMs(value, NOW)).toBe(expected);
});

test.each([
  undefined,
  '',
  '0',
  '-1',
  '1.5',
  '1e3',
  '0x10',
  'soon',
  'tomorrow 12',
  '-99999999999999999999',
  '+120',
  '1_000',
  '１２０',
  '120, 240',
  '120s',
  '0000',
  'Sun, 29 Nov 2026 12:01:30',
  'Sun, 29 Nov 2026 12:01:30 +0100',
  'Sun, 29 Nov 2026 25:61:61 GMT',
  'Sunday, 29-Nov-94 12:01:30 GMT',
  'Sun Nov 29 12:01:30 2026 GMT',
  'Sun Nov 29 11:59:59 2026',
  'Sun, 29 Nov 2026 11:59:59 GMT',
  'Sun, 99 Nov 2026 11:59:59 GMT',
  '2026-11-29T12:01:30Z',
  'Infinity',
])('%j is ignored', (value) => {
  expect(retryAfterMs(value, NOW)).toBeUndefined();
});

test('whatever a receiver writes, the wait is undefined or within a day', () => {
  fc.assert(
    fc.property(fc.string(), (value) => {
      const waitMs = retryAfterMs(value, NOW);
      if (waitMs === undefined) return;
      expect(waitMs).toBeGreaterThan(0);
      expect(waitMs).toBeLessThanOrEqual(LONGEST_RETRY_AFTER_MS);
    }),
  );
});
