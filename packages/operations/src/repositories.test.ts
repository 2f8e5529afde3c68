import type { Pool } from '@ghost/db';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { listRepositories } from './repositories.js';

let database: TestDatabase;
let pool: Pool;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = database.pool();
  await pool.query(
    `INSERT INTO account (login, name) SELECT l, l FROM unnest('{ada,brian}'::text[]) l;
     INSERT INTO repository (owner_id, name, private)
       SELECT a.id, n, n = 'plans' FROM account a, unnest('{demo,plans}'::text[]) n ORDER BY a.id, n;
     INSERT INTO member (repository_id, account_id, permission) VALUES (2, 2, 'read');
     INSERT INTO watch (repository_id, account_id, ignored) VALUES (2, 1, false), (2, 2, true);
     INSERT INTO thread (repository_id, number, author_id, title, body) VALUES (2, 1, 1, 't', ''), (2, 2, 1, 't', '');
     INSERT INTO hook (repository_id, url, events) SELECT 2, 'https://a.example', '{*}' FROM generate_series(1, 3)`,
  );
});
afterEach(() => database.drop());

describe('listRepositories', () => {
  test('counts what belongs to each: members, watchers who do not ignore it, threads, hooks', async () => {
    const [demo, plans] = await listRepositories(pool);
    const none = { members: 0, watchers: 0, threads: 0, hooks: 0 };
    expect(demo).toMatchObject({ id: 1, owner: 'ada', name: 'demo', private: false, ...none });
    expect(plans).toEqual({
      id: 2,
      owner: 'ada',
      name: 'plans',
      private: true,
      members: 1,
      watchers: 1,
      threads: 2,
      hooks: 3,
      createdAt: expect.any(Date) as unknown,
    });
  });

  test('goes on by id, for one owner without case or for all', async () => {
    const ids = async (list: Parameters<typeof listRepositories>[1]) =>
      (await listRepositories(pool, list)).map((row) => row.id);
    expect(await ids({})).toEqual([1, 2, 3, 4]);
    expect(await ids({ limit: 2, after: 1 })).toEqual([2, 3]);
    expect(await ids({ owner: 'BRIAN' })).toEqual([3, 4]);
    expect(await ids({ owner: 'ada', after: 2 })).toEqual([]);
    expect(await ids({ limit: 0 })).toEqual([1]);
  });

  test('an owner that is no account is said, not an empty list', async () => {
    await expect(listRepositories(pool, { owner: 'nobody' })).rejects.toMatchObject({
      problem: 'unknown_login',
    });
  });
});
