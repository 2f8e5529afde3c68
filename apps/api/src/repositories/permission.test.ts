import { createDatabase, createPool, type Permission, permissionSql, schema } from '@ghost/db';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import { includesPermission } from './repository-access.js';

let database: TestDatabase;
let found: ReadonlyMap<string, Permission>;

beforeAll(async () => {
  database = await createTestDatabase();
  const pool = createPool({
    connectionString: database.url,
    name: 'test',
    max: 1,
    onError: () => undefined,
  });
  const db = createDatabase(pool);
  const people = await db
    .insert(schema.account)
    .values(
      ['owner', 'reader', 'writer', 'chief', 'stranger', 'operator'].map((login) => ({
        login,
        name: login,
        isAdmin: login === 'operator',
      })),
    )
    .returning();
  const idOf = (login: string) => people.find((person) => person.login === login)?.id ?? 0;
  const repositories = await db
    .insert(schema.repository)
    .values([
      { ownerId: idOf('owner'), name: 'open', private: false },
      { ownerId: idOf('owner'), name: 'closed', private: true },
    ])
    .returning();
  await db.insert(schema.member).values(
    repositories.flatMap(({ id }) => [
      { repositoryId: id, accountId: idOf('reader'), permission: 'read' as const },
      { repositoryId: id, accountId: idOf('writer'), permission: 'write' as const },
      { repositoryId: id, accountId: idOf('chief'), permission: 'admin' as const },
    ]),
  );
  const each = await db
    .select({
      login: schema.account.login,
      name: schema.repository.name,
      permission: permissionSql(schema.account.id),
    })
    .from(schema.account)
    .crossJoin(schema.repository);
  const nobody = await db
    .select({ name: schema.repository.name, permission: permissionSql(sql`null::bigint`) })
    .from(schema.repository);
  found = new Map([
    ...each.map((row) => [`${row.login} ${row.name}`, row.permission] as const),
    ...nobody.map((row) => [`nobody ${row.name}`, row.permission] as const),
  ]);
  await pool.end();
});
afterAll(async () => {
  await database.drop();
});

test.each<[string, Permission, Permission]>([
  ['owner', 'admin', 'admin'],
  ['reader', 'read', 'read'],
  ['writer', 'write', 'write'],
  ['chief', 'admin', 'admin'],
  ['stranger', 'read', 'none'],
  // An operator's `is_admin` must not open private repositories.
  ['operator', 'read', 'none'],
  // Somebody without an account.
  ['nobody', 'read', 'none'],
])('%s may %s in a public repository and %s in a private one', (who, open, closed) => {
  expect(found.get(`${who} open`)).toBe(open);
  expect(found.get(`${who} closed`)).toBe(closed);
});

test('a permission includes those below it', () => {
  expect(includesPermission('admin', 'write')).toBe(true);
  expect(includesPermission('read', 'read')).toBe(true);
  expect(includesPermission('read', 'write')).toBe(false);
  expect(includesPermission('none', 'read')).toBe(false);
});
