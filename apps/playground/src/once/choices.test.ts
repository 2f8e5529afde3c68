import { randomUUID } from 'node:crypto';

import type { Pool } from '@ghost/db';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import { findChoices } from './choices.js';

let database: TestDatabase;
let pool: Pool;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = database.pool(1);
});
afterEach(() => database.drop());

test('findChoices tells who ignores the repository or muted the thread of an event, and nobody else', async () => {
  await pool.query(
    `INSERT INTO account (login, name)
     SELECT login, login FROM unnest(ARRAY['ada', 'brian', 'chika']) AS login`,
  );
  await pool.query(
    `INSERT INTO repository (owner_id, name) SELECT a.id, repo FROM account a, unnest(ARRAY['one', 'two']) AS repo WHERE a.login = 'ada'`,
  );
  await pool.query(
    `INSERT INTO thread (repository_id, number, author_id, title, body)
     SELECT r.id, n, r.owner_id, 'A thread', '' FROM repository r, unnest(ARRAY[1, 2]) AS n`,
  );
  // Brian has enough of the first repository and of its first thread; Chika and Ada want their mails.
  await pool.query(
    `INSERT INTO watch (repository_id, account_id, ignored)
     SELECT r.id, a.id, a.login = 'brian' AND r.name = 'one' FROM repository r, account a`,
  );
  await pool.query(
    `INSERT INTO thread_subscription (thread_id, account_id, reason, muted)
     SELECT t.id, a.id, 'participant', a.login = 'brian' AND t.number = 1 FROM thread t, account a`,
  );
  const eventOf = async (repository: string, number: number) => {
    const id = randomUUID();
    await pool.query(
      `INSERT INTO outbox_event (id, type, version, repository_id, payload)
       SELECT $1::uuid, 'comment.created', 1, r.id, jsonb_build_object('thread', jsonb_build_object('id', t.id))
       FROM repository r JOIN thread t ON t.repository_id = r.id WHERE r.name = $2 AND t.number = $3`,
      [id, repository, number],
    );
    return id;
  };
  const [both, ignored, muted, none] = [
    await eventOf('one', 1),
    await eventOf('one', 2),
    await eventOf('two', 1),
    await eventOf('two', 2),
  ];
  const found = await findChoices(pool, [both, ignored, muted, none]);
  expect(found).toEqual(
    new Map([
      [both, new Map([['brian', ['ignored', 'muted']]])],
      [ignored, new Map([['brian', ['ignored']]])],
      [muted, new Map([['brian', ['muted']]])],
    ]),
  );
  expect(await findChoices(pool, [none])).toEqual(new Map());
});
