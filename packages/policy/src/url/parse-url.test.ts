import { expect, test } from 'vitest';

import { parseUrl } from './parse-url.js';

test('a URL is read, and what is none is null', () => {
  expect(parseUrl('https://Bücher.example/a')?.href).toBe('https://xn--bcher-kva.example/a');
  for (const none of ['', '/a', 'https://', 'http://a b/', 'nonsense'])
    expect(parseUrl(none), none).toBeNull();
});

test('a process that has read many URLs still reads those with Latin-1 letters', () => {
  // More than make the engine optimize the call.
  const read = Array.from({ length: 30_000 }, () => parseUrl('https://b\u00FCcher.example/'));
  expect(read.filter((url) => url === null)).toEqual([]);
});
