import { expect, test } from 'vitest';

import { Listed } from './listed.js';
import { MAX_PAGE_BYTES } from './page-bytes.js';

const rowsOf = (...lengths: number[]) =>
  lengths.map((length, at) => ({ id: at + 1, body: 'a'.repeat(length) }));
type Row = ReturnType<typeof rowsOf>[number];
const pageOf = (rows: Row[], perPage = 100) =>
  Listed.from(
    rows,
    perPage,
    'comments',
    ({ id }) => id,
    (row) => row,
  );
const shown = ({ items, next }: Listed<Row>) => [items.map(({ id }) => id), next?.after ?? null];

test('a page holds what was asked for, and what was read beyond says that more follows', () => {
  const page = pageOf(rowsOf(1, 1, 1), 2);
  expect(shown(page)).toEqual([[1, 2], 2]);
  expect(page.text).toBe(JSON.stringify(page.items));
  expect(shown(pageOf(rowsOf(1, 1), 2))).toEqual([[1, 2], null]);
  expect(pageOf([])).toMatchObject({ text: '[]', next: null });
});

test('a page ends before its JSON is longer than 1 MiB, and leads on', () => {
  const half = MAX_PAGE_BYTES / 2;
  expect(shown(pageOf(rowsOf(half, half - 100, 1)))).toEqual([[1, 2, 3], null]);
  expect(shown(pageOf(rowsOf(half, half, 1)))).toEqual([[1], 1]);
  // What is written with escapes, or takes more bytes than characters, is as long as it is sent.
  const escaped = [1, 2].map((id) => ({ id, body: '\n'.repeat(half / 2) }));
  expect(shown(pageOf(escaped))).toEqual([[1], 1]);
  const emoji = [1, 2].map((id) => ({ id, body: '🎉'.repeat(half / 4) }));
  expect(shown(pageOf(emoji))).toEqual([[1], 1]);
});

test('one item is a page, however long it is', () => {
  expect(shown(pageOf(rowsOf(3 * MAX_PAGE_BYTES, 1)))).toEqual([[1], 1]);
  expect(shown(pageOf(rowsOf(3 * MAX_PAGE_BYTES)))).toEqual([[1], null]);
});
