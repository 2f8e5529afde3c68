import { createDatabase, schema } from '@ghost/db';
import { asc, desc, eq, gt, sql, type SQL } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { startTestApi, type TestApi } from '../../../../test/support/test-api.js';
import { Listed } from './listed.js';
import { fitsPage } from './page-bytes.js';

const { comment } = schema;
// Of four bytes each: 256 KiB, the most that a comment holds.
const LONG = '🎉'.repeat(65_536);
const LONG_COUNT = 9;

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
  const ada = await api.addPerson('ada');
  await ada.ask('POST', '/user/repos', { name: 'engine' });
  await ada.ask('POST', '/repos/ada/engine/threads', { title: 'a' });
  for (let n = 0; n < LONG_COUNT; n += 1) {
    await ada.ask('POST', '/repos/ada/engine/threads/1/comments', { body: LONG });
  }
  await ada.ask('POST', '/repos/ada/engine/threads/1/comments', { body: 'short' });
});
afterAll(() => api.stop());

/** The statement that a list of long texts is read with. */
async function read(perPage: number, order: SQL, beyond?: SQL) {
  const db = createDatabase(api.pool);
  const page = db
    .select({ id: comment.id, fits: fitsPage(comment.body, order).as('fits') })
    .from(comment)
    .where(beyond)
    .orderBy(order)
    .limit(perPage + 1)
    .as('page');
  return db
    .select({ number: comment.number, body: comment.body })
    .from(page)
    .innerJoin(comment, eq(comment.id, page.id))
    .where(sql`${page.fits}`)
    .orderBy(order);
}

test('Postgres sends little more than a page holds, and enough to know that more follows', async () => {
  const rows = await read(100, asc(comment.number));
  expect(rows.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
  expect((await read(2, asc(comment.number))).map(({ number }) => number)).toEqual([1, 2, 3]);
  expect((await read(100, desc(comment.number))).map(({ number }) => number)).toEqual([
    10, 9, 8, 7, 6, 5,
  ]);
});

test('pages of long texts follow each other without a gap', async () => {
  const seen: number[][] = [];
  let after = 0;
  for (;;) {
    const rows = await read(100, asc(comment.number), gt(comment.number, after));
    const page = Listed.from(
      rows,
      100,
      'comments',
      ({ number }) => number,
      (row) => row,
    );
    seen.push(page.items.map(({ number }) => number));
    if (page.next === null) break;
    after = Number(page.next.after);
  }
  expect(seen).toEqual([
    [1, 2, 3],
    [4, 5, 6],
    [7, 8, 9, 10],
  ]);
});
