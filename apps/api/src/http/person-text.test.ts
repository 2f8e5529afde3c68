import { describe, expect, test } from 'vitest';

import { personLine, requiredPersonText } from './person-text.js';

const LONGEST = 20;

describe('a required text', () => {
  test.each([
    ['nothing', ''],
    ['blanks', ' \t\u00A0\u3000\n'],
    ['a zero-width space', '\u200B'],
    ['joiners', '\u200C\u200D\u2060'],
    ['a byte order mark', '\uFEFF'],
    ['bidi marks and isolates', '\u200E\u200F\u061C\u202A\u202E\u2066\u2069'],
    ['a soft hyphen', '\u00AD'],
    ['variation selectors', '\uFE0F\u{E0100}'],
    ['tag characters', '\u{E0041}\u{E007F}'],
    ['fillers', '\u115F\u3164\uFFA0\u2800'],
    ['a mixture of them', ' \u200B \uFEFF\u200D\u200E '],
  ])('of %s is refused as empty', (_name, text) => {
    for (const schema of [requiredPersonText(LONGEST), personLine(LONGEST)]) {
      const { success, error } = schema.safeParse(text);
      expect(success).toBe(false);
      expect(error?.issues[0]).toMatchObject({
        message: 'The text is empty.',
        params: { code: 'missing_field' },
      });
    }
  });

  test.each(['a', '0', '.', '漢', '👩‍👩‍👧', 'می‌خواهم', '\u200Bx\u200B', '\uFFFD'])(
    '%j is taken as it is',
    (text) => {
      expect(requiredPersonText(LONGEST).parse(text)).toBe(text);
    },
  );
});
