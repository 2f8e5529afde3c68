import { describe, expect, test } from 'vitest';

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

describe('a value is hidden', () => {
  const KEY = 'Ab+cd/ef=="&\'<>\\x';
  const own = [['x-key', KEY]] as const;
  const u = (text: string) =>
    text.replaceAll(
      /[^0-9a-z]/giu,
      (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  const numbered = (text: string) =>
    text.replaceAll(/[^0-9a-z]/giu, (one) => `&#${one.charCodeAt(0)};`);
  const html = KEY.replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

  test.each([
    ['in the JSON of PHP', JSON.stringify(KEY).replaceAll('/', '\\/')],
    ['in JSON that escapes what HTML minds', `"${u(KEY)}"`],
    [
      'in JSON, in capitals',
      `"${u(KEY).replaceAll(/u00../gu, (one) => `u${one.slice(1).toUpperCase()}`)}"`,
    ],
    ['in a URL', `"${encodeURIComponent(KEY)}"`],
    ['in HTML', `"${html}"`],
    ['in HTML, by numbers', `"${numbered(KEY)}"`],
  ])('%s', (_, bodyExcerpt) => {
    expect(hideEchoes({ ...FACTS, bodyExcerpt }, own).bodyExcerpt).toBe('"[redacted]"');
  });

  test('as a form writes blanks', () => {
    const bodyExcerpt = 'a=two+words+in+it&b=two%20words%09in+it';
    const { bodyExcerpt: left } = hideEchoes({ ...FACTS, bodyExcerpt }, [
      ['x-key', 'two words in it'],
      ['x-other', 'two words\tin it'],
    ]);
    expect(left).toBe('a=[redacted]&b=[redacted]');
  });

  test('by the longest of its words, however many it has', () => {
    const words = Array.from({ length: 200 }, (_, n) => `word-${String(n).padStart(4, '0')}`);
    const value = [...words, 'the-longest-of-them'].join(' ');
    const body = (text: string) => hideEchoes({ ...FACTS, bodyExcerpt: text }, [['x-key', value]]);
    expect(body('a the-longest-of-them').bodyExcerpt).toBe('a [redacted]');
    expect(body(`a ${value}`).bodyExcerpt).toBe('a [redacted]');
    // Looking for each would hold up other attempts.
    const left = (body(words.join('\n')).bodyExcerpt ?? '').split('\n');
    expect(left.filter((word) => word === '[redacted]')).toHaveLength(31);
  });

  test('where what is kept of the body ends within it', () => {
    for (const [cut, left] of [
      ['of-nobody-els', '[redacted]'],
      ['of-nobod', '[redacted]'],
      ['Bearer of-nobody', '[redacted]'],
      ['of-nobo', 'of-nobo'],
    ] as const) {
      const { bodyExcerpt } = hideEchoes({ ...FACTS, bodyExcerpt: `key: ${cut}` }, OWN);
      expect(bodyExcerpt).toBe(`key: ${left}`);
    }
  });
});

test('without own headers, or an answer, facts stay as they are', () => {
  const facts = { ...FACTS, bodyExcerpt: 'Bearer of-nobody-else' };
  expect(hideEchoes(facts, [])).toBe(facts);
  expect(hideEchoes(facts, [['x-short', 'ok']])).toBe(facts);
  expect(hideEchoes(FACTS, OWN)).toEqual(FACTS);
});
