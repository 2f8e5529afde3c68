import { expect, test } from 'vitest';

import { isRefusedStatement } from './refused-statement.js';

const coded = (code: string) => Object.assign(new Error('no'), { code });

test.each(['22021', '22P02', '23514', '42883'])('SQLSTATE %s refuses what was said', (code) => {
  expect(isRefusedStatement(coded(code))).toBe(true);
  expect(isRefusedStatement(new Error('Failed query', { cause: coded(code) }))).toBe(true);
});

test.each([new TypeError('no function'), new RangeError('Invalid time value')])(
  'our own %s refuses: it would be thrown again',
  (error) => {
    expect(isRefusedStatement(error)).toBe(true);
  },
);

test.each(['25006', '57014', 'XX000', '58030', '28P01', '3D000', '0A000', 'ENOENT', '2200', 'x'])(
  '%s may pass',
  (code) => {
    expect(isRefusedStatement(coded(code))).toBe(false);
  },
);

test('an error without a code may pass', () => {
  expect(isRefusedStatement(new Error('Connection terminated'))).toBe(false);
  expect(isRefusedStatement(undefined)).toBe(false);
});
