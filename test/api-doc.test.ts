import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

import { apiDocWithParts, partOfApiDoc } from './support/api-doc.js';

const API_SOURCES = new URL('../apps/api/src/', import.meta.url);
/** How the code of an error stands in the sources of the API; a field's code has no status beside it. */
const ERROR_CODE =
  /(?:badRequest|unauthorized)\(\s*'([a-z_]+)'|(?:\bstatus(?:: \d{3})?|\bmessage: '[^']*'),\s*code: '([a-z_]+)'/gu;

describe('docs/api.md', () => {
  test('lists every route, and the intended differences from GitHub and no other', async () => {
    await expect(apiDocWithParts()).toMatchFileSnapshot('../docs/api.md');
  });

  test('lists every code of an error', () => {
    const listed = [
      ...partOfApiDoc('codes').matchAll(/^\| (?:\d{3}|other 4xx) \| `([a-z_]+)`/gmu),
    ].map(([, code]) => code);
    expect(new Set(listed)).toEqual(errorCodes());
  });
});

function errorCodes(): Set<string | undefined> {
  const files = readdirSync(API_SOURCES, { recursive: true, encoding: 'utf8' });
  const codes = files
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .flatMap((file) => [...readFileSync(new URL(file, API_SOURCES), 'utf8').matchAll(ERROR_CODE)])
    .map(([, short, long]) => short ?? long);
  return new Set(codes);
}
