import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';

import {
  createTestDatabase,
  openPool,
  type TestDatabase,
} from '../../../../test/support/test-database.js';
import { arrayLiteral } from './array-literal.js';

let database: TestDatabase;
let pool: ReturnType<typeof openPool>;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openPool(database.url);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const read = async (type: string, values: Parameters<typeof arrayLiteral>[0]) => {
  const { rows } = await pool.query<{ read: unknown }>(`SELECT to_json($1::${type}[]) AS read`, [
    arrayLiteral(values),
  ]);
  return rows[0]?.read;
};

test('Postgres reads what was written, whatever the texts hold', async () => {
  const tricky = [
    '',
    ' ',
    'NULL',
    'null',
    '"',
    '\\',
    '\\"',
    '{a,b}',
    'a,b',
    '\n',
    "'",
    '👻',
    '{}',
    null,
  ];
  expect(await read('text', tricky)).toEqual(tricky);
  // Postgres holds no NUL, and UTF-8 no half of a pair.
  expect(await read('text', ['a\0b', '\ud83d'])).toEqual(['a\uFFFDb', '\uFFFD']);
  const text = fc.string({ unit: 'binary' }).map((made) => made.replaceAll('\0', ''));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(text)), async (values) => {
      expect(await read('text', values)).toEqual(values);
    }),
    { numRuns: 200 },
  );
});

test('Postgres reads numbers, truth values and what is not there', async () => {
  expect(await read('bigint', [1, -2, 9_007_199_254_740_991, null, undefined])).toEqual([
    1,
    -2,
    9_007_199_254_740_991,
    null,
    null,
  ]);
  expect(await read('boolean', [true, false, null])).toEqual([true, false, null]);
  expect(await read('integer', [])).toEqual([]);
});
