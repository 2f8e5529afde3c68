import { createDatabase, createPool, mayReadSql, schema } from '@ghost/db';
import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';

import { createTestDatabase } from '../../../../test/support/test-database.js';
import { includesPermission, type Permission, permissionOf } from './permission.js';

const PERSON = { id: 1 };

test.each<
  [string, { ownerId: number; private: boolean }, 'read' | 'write' | 'admin' | null, Permission]
>([
  ['the owner', { ownerId: 1, private: true }, null, 'admin'],
  ['the owner who is a member too', { ownerId: 1, private: false }, 'read', 'admin'],
  ['anybody, of a public one', { ownerId: 2, private: false }, null, 'read'],
  ['anybody, of a private one', { ownerId: 2, private: true }, null, 'none'],
  ['a reading member', { ownerId: 2, private: true }, 'read', 'read'],
  ['a writing member', { ownerId: 2, private: true }, 'write', 'write'],
  ['a member who is admin', { ownerId: 2, private: false }, 'admin', 'admin'],
])('%s', (_who, repository, permission, expected) => {
  const member = permission === null ? null : { permission };
  expect(permissionOf(PERSON, repository, member)).toBe(expected);
});

test('a permission includes those below it', () => {
  expect(includesPermission('admin', 'write')).toBe(true);
  expect(includesPermission('read', 'read')).toBe(true);
  expect(includesPermission('read', 'write')).toBe(false);
  expect(includesPermission('none', 'read')).toBe(false);
});

test('the rule in SQL says the same as the rule, for everybody', async () => {
  const database = await createTestDatabase();
  const pool = createPool({
    connectionString: database.url,
    name: 'test',
    max: 1,
    onError: () => undefined,
  });
  const db = createDatabase(pool);
  try {
    const people = await db
      .insert(schema.account)
      .values(
        ['owner', 'reader', 'writer', 'chief', 'stranger', 'operator'].map((login) => ({
          login,
          name: login,
          email: `${login}@people.example`,
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
    const members = await db
      .insert(schema.member)
      .values(
        repositories.flatMap(({ id }) => [
          { repositoryId: id, accountId: idOf('reader'), permission: 'read' as const },
          { repositoryId: id, accountId: idOf('writer'), permission: 'write' as const },
          { repositoryId: id, accountId: idOf('chief'), permission: 'admin' as const },
        ]),
      )
      .returning();
    const asked = await db
      .select({
        account: schema.account,
        repository: schema.repository,
        mayRead: mayReadSql(schema.account.id),
      })
      .from(schema.account)
      .innerJoin(schema.repository, sql`true`);
    expect(asked).toHaveLength(12);
    for (const { account, repository, mayRead } of asked) {
      const member = members.find(
        (row) => row.accountId === account.id && row.repositoryId === repository.id,
      );
      const expected = includesPermission(
        permissionOf(account, repository, member ?? null),
        'read',
      );
      expect({ account: account.login, mayRead }).toEqual({
        account: account.login,
        mayRead: expected,
      });
    }
  } finally {
    await pool.end();
    await database.drop();
  }
});
