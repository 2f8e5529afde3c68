import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { headerSafe, personName } from './header-safe.js';

/** One line without controls, separators or bidi overrides. */
const HEADER_LINE = /^[^\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202A-\u202E\u2066-\u2069]*$/u;

describe('text for a header', () => {
  test.each([
    ['a line end that adds a header', 'Hi\r\nBcc: x@y', 'Hi Bcc: x@y'],
    ['a lone CR', 'a\rb', 'a b'],
    ['NUL and other controls', 'a\0b\u0007c\u0085d', 'a b c d'],
    ['line and paragraph separators', 'a\u2028b\u2029c', 'a b c'],
    ['a right-to-left override', 'gpj.\u202Eexe', 'gpj. exe'],
    ['bidi isolates and marks', 'a\u2066b\u2069c\u200Ed', 'a b c d'],
    ['invisible characters', 'a\u200Bb\uFEFFc\u00ADd', 'a b c d'],
    ['what poses as an encoded word', '=?utf-8?q?x?=', '= ?utf-8?q?x?='],
    ['spaces around and between', '  a \t  b ', 'a b'],
    ['a lone surrogate', 'a\ud83d', 'a\ufffd'],
  ])('has no %s', (_what, text, safe) => {
    expect(headerSafe(text, 100)).toBe(safe);
  });

  test('keeps what people write', () => {
    for (const text of [
      'Žofie',
      '山田太郎',
      'Doe, Jane',
      'a"b\\c',
      '👩‍👩‍👧 family',
      'می\u200Cخواهم',
    ]) {
      expect(headerSafe(text, 100)).toBe(text);
    }
  });

  test('is cut at whole characters', () => {
    expect(headerSafe('abcdef', 4)).toBe('abc…');
    expect(headerSafe('é'.repeat(6), 4)).toBe('éé…');
    // Two bytes a character on average at most.
    expect(headerSafe('😀'.repeat(10), 8)).toBe('😀😀😀…');
    expect(headerSafe('😀😀😀', 6)).toBe('😀😀😀');
    expect(headerSafe('abcd', 4)).toBe('abcd');
  });

  test('is always one line that a header can hold', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        const safe = headerSafe(text, 80);
        expect(safe).toMatch(HEADER_LINE);
        expect([...safe].length).toBeLessThanOrEqual(80);
      }),
    );
  });
});

describe('a person’s name', () => {
  const named = (name: string) => personName({ login: 'jane', name });

  test('is the login where it is empty or only invisible', () => {
    expect(named('')).toBe('jane');
    expect(named('\u200B \u202E')).toBe('jane');
  });

  test.each([
    '\u3164',
    '\u115F\u1160',
    '\uFFA0',
    '\u2800',
    '\u034F',
    '\u180E',
    '\u{E0061}',
    '\u0301',
    '\u200D',
  ])('is the login where it shows nothing: %j', (name) => {
    expect(named(name)).toBe('jane');
    expect(headerSafe(` ${name}${name} `, 80)).toBe('');
  });

  test('never poses as an address', () => {
    expect(named('support@bank.example')).toBe('jane');
    expect(named('x <y@z>')).toBe('jane');
    for (const name of [
      ...['ceo＠bank.example', 'ceo﹫bank.example', '＜ceo', 'ceo﹥'],
      ...['ceo @bank.example', 'ceo@ bank.example', 'Jane, ceo\u00A0@\u3000bank.example'],
    ]) {
      expect(named(name), name).toBe('jane');
    }
    for (const name of ['Jane @ Acme', '@jane']) expect(named(name)).toBe(name);
  });

  test('is bounded', () => {
    expect([...named('x'.repeat(300))]).toHaveLength(80);
  });
});
