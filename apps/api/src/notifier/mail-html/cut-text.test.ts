import fc from 'fast-check';
import { expect, test } from 'vitest';

import { cutText } from './cut-text.js';

test('what fits is whole', () => {
  expect(cutText('abc', 3)).toEqual({ text: 'abc', cut: false });
  expect(cutText('é', 2)).toEqual({ text: 'é', cut: false });
  expect(cutText('', 0)).toEqual({ text: '', cut: false });
});

test('what does not is cut at a line’s end that is near, else between characters', () => {
  expect(cutText('one\ntwo three', 12)).toEqual({ text: 'one\ntwo thre', cut: true });
  expect(cutText('one two\nthree', 9)).toEqual({ text: 'one two', cut: true });
  expect(cutText('aé', 2)).toEqual({ text: 'a', cut: true });
  expect(cutText('a😀', 4)).toEqual({ text: 'a', cut: true });
});

test('a cut text is a beginning of it, whole characters, within its bytes', () => {
  const bytes = fc.integer({ min: 0, max: 50 });
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 40 }), bytes, (text, most) => {
      const { text: kept, cut } = cutText(text, most);
      expect(text.startsWith(kept)).toBe(true);
      expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(most);
      expect(kept.isWellFormed()).toBe(true);
      expect(cut).toBe(kept !== text);
    }),
  );
});
