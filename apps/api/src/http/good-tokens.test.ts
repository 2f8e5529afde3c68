import { expect, test } from 'vitest';

import { GoodTokens } from './good-tokens.js';

const HOUR_MS = 3_600_000;

test('a token is known for an hour after it was good last', () => {
  let now = 0;
  const tokens = new GoodTokens(() => now);
  tokens.remember('a', 1);
  now = HOUR_MS - 1;
  expect(tokens.accountOf('a')).toBe(1);
  tokens.remember('a', 1);
  now += HOUR_MS - 1;
  expect(tokens.accountOf('a')).toBe(1);
  now += 1;
  expect(tokens.accountOf('a')).toBeNull();
});

test('one that is forgotten, or was never good, is not known', () => {
  const tokens = new GoodTokens(() => 0);
  tokens.remember('a', 1);
  tokens.forget('a');
  expect(tokens.accountOf('a')).toBeNull();
  expect(tokens.accountOf('b')).toBeNull();
});

test('of more than 10,000 the one that was good longest ago is forgotten', () => {
  const tokens = new GoodTokens(() => 0);
  for (let n = 0; n < 10_000; n += 1) tokens.remember(`t${n}`, n);
  tokens.remember('t0', 0);
  tokens.remember('new', -1);
  expect(['t0', 't1', 't2', 'new'].map((hash) => tokens.accountOf(hash))).toEqual([0, null, 2, -1]);
});
