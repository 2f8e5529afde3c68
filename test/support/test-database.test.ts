import { expect, inject, test } from 'vitest';
import { createTestDatabase } from './test-database.js';
import { withClient } from './test-server.js';

const ASK_TABLES = `select count(*)::int as count from information_schema.tables where table_name = 'delivery_job'`;

test('gives each caller a migrated database of its own', async () => {
  const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  try {
    expect(one.url).not.toBe(other.url);
    for (const { url } of [one, other]) {
      const found = await withClient(url, (client) => client.query(ASK_TABLES));
      expect(found.rows).toEqual([{ count: 1 }]);
    }
    await withClient(one.url, (client) => client.query('create table mine ()'));
    const elsewhere = withClient(other.url, (client) => client.query('select from mine'));
    await expect(elsewhere).rejects.toMatchObject({ code: '42P01' });
  } finally {
    await Promise.all([one.drop(), other.drop()]);
  }
});

test('drops a database that somebody is still connected to', async () => {
  const database = await createTestDatabase();
  const name = new URL(database.url).pathname.slice(1);
  await withClient(database.url, async (client) => {
    const cut = new Promise((resolve) => client.on('error', resolve));
    await database.drop();
    await cut;
  }).catch(() => undefined);
  const left = await withClient(inject('databaseBaseUrl'), (client) =>
    client.query('select from pg_database where datname = $1', [name]),
  );
  expect(left.rowCount).toBe(0);
});
