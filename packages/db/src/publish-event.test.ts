import type { NewEvent } from '@ghost/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { createDatabase, createPool, type Database, type Pool } from './pool.js';
import { publishEvent } from './publish-event.js';
import { EventPayloadError } from './write-event.js';

let database: TestDatabase;
let pool: Pool;
let db: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({
    connectionString: database.url,
    name: 'test',
    max: 4,
    onError: () => undefined,
  });
  db = createDatabase(pool);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const actor = { id: 1, login: 'ada', name: 'Ada' };
const repository = {
  id: 9,
  owner: 'ada',
  name: 'demo',
  full_name: 'ada/demo',
  private: false,
  html_url: 'https://ghost.example/ada/demo',
};

function memberAdded(name: string): NewEvent {
  return {
    type: 'member.added',
    repositoryId: 9,
    payload: { repository, sender: actor, member: { ...actor, name } },
  };
}

test('an event commits with the change that caused it, with a progress row for each consumer', async () => {
  const id = await db.transaction((tx) => publishEvent(tx, memberAdded('Brian')));
  const { rows } = await pool.query(
    `SELECT e.type, e.version, e.payload #>> '{member,name}' AS name, array_agg(p.consumer ORDER BY p.consumer) AS consumers
     FROM outbox_event e JOIN outbox_progress p ON p.event_id = e.id WHERE e.id = $1 GROUP BY e.id`,
    [id],
  );
  expect(rows).toEqual([
    { type: 'member.added', version: 1, name: 'Brian', consumers: ['notifier', 'webhook-fanout'] },
  ]);
});

test('nothing is kept of an event whose transaction rolls back', async () => {
  let id = '';
  const rolledBack = db.transaction(async (tx) => {
    id = await publishEvent(tx, memberAdded('Chika'));
    tx.rollback();
  });
  await expect(rolledBack).rejects.toThrow();
  const { rows } = await pool.query('SELECT FROM outbox_event WHERE id = $1', [id]);
  expect(rows).toEqual([]);
});

test('a payload that is not of its type is refused before anything is written', async () => {
  const wrong = {
    ...memberAdded('Dmitri'),
    payload: { repository, sender: actor },
  } as unknown as NewEvent;
  const refused = db.transaction((tx) => publishEvent(tx, wrong));
  await expect(refused).rejects.toThrow(EventPayloadError);
  await expect(refused).rejects.toThrow('member');
});

test('an event remembers the hooks that led to it, in their own repository alone', async () => {
  const chainOf = async (cause: Parameters<typeof publishEvent>[2]) => {
    const id = await db.transaction((tx) => publishEvent(tx, memberAdded('Emma'), cause));
    const { rows } = await pool.query('SELECT hook_chain FROM outbox_event WHERE id = $1', [id]);
    return rows;
  };
  expect(await chainOf({ repositoryId: 9, hookIds: [4, 2] })).toEqual([{ hook_chain: ['4', '2'] }]);
  expect(await chainOf({ repositoryId: 8, hookIds: [4, 2] })).toEqual([{ hook_chain: [] }]);
  expect(await chainOf(null)).toEqual([{ hook_chain: [] }]);
});

test('NUL, lone surrogates and 300,000 characters in a payload never fail the caller’s write', async () => {
  const name = `nul \0, lone \ud800, ${'漢'.repeat(300_000)}`;
  const id = await db.transaction((tx) => publishEvent(tx, memberAdded(name)));
  const { rows } = await pool.query<{ name: string }>(
    `SELECT payload #>> '{member,name}' AS name FROM outbox_event WHERE id = $1`,
    [id],
  );
  expect(rows[0]?.name).toBe(name.replace('\0', '\uFFFD').replace('\ud800', '\uFFFD'));
});
