import fc from 'fast-check';
import { expect, test } from 'vitest';

import { partHeads } from './common-head.js';

test('parted heads are what they were, and what all have is said once', () => {
  const heads = [{ a: '1', b: '2' }, undefined, { a: '1', b: '3', c: '4' }];
  expect(partHeads(heads)).toEqual({
    common: { a: '1' },
    own: [{ b: '2' }, undefined, { b: '3', c: '4' }],
  });
  const head = fc.option(
    fc.dictionary(fc.constantFrom('a', 'b', 'c', 'toString'), fc.constantFrom('1', '2')),
    { nil: undefined },
  );
  fc.assert(
    fc.property(fc.array(head), (all) => {
      const { common, own } = partHeads(all);
      expect(own.map((one) => one && { ...common, ...one })).toEqual(
        all.map((one) => one && { ...one }),
      );
    }),
  );
});
