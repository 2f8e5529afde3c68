import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { isDeeperThan } from './json-depth.js';

const bytes = (text: string) => Buffer.from(text);

test.each([
  ['{"a":[1]}', 2, false],
  ['{"a":[[1]]}', 2, true],
  ['[[],[],[],[]]', 2, false],
  ['["[[[[{{{{"]', 1, false],
  [String.raw`["\"[[[["]`, 1, false],
  [String.raw`["\\",[[]]]`, 2, true],
  ['"[[[["', 0, false],
  ['['.repeat(200), 100, true],
])('%s deeper than %i: %s', (json, max, deeper) => {
  expect(isDeeperThan(bytes(json), max)).toBe(deeper);
});

test('it is right for all JSON', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null
      ? 1 + Math.max(0, ...Object.values(value).map(depthOf))
      : 0;
  fc.assert(
    fc.property(fc.jsonValue({ depthSize: 'large' }), fc.nat(5), (value, max) => {
      expect(isDeeperThan(bytes(JSON.stringify(value)), max)).toBe(depthOf(value) > max);
    }),
  );
});
