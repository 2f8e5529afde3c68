import type { Pool } from '@ghost/db';
import { sqlOfPool } from '@ghost/queue';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { type AuditFilter, listAudit, recordAccessChange } from './audit.js';

const ADA = { id: 1, login: 'Ada' };
const BO = { id: 2, login: 'bo' };
const DEMO = { id: 7, fullName: 'Ada/demo' };

let database: TestDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = database.pool();
  const sql = sqlOfPool(pool);
  const byAda = { ...ADA, token: null };
  await recordAccessChange(sql, {
    action: 'repository.created',
    actor: byAda,
    subject: ADA,
    repository: DEMO,
  });
  await recordAccessChange(sql, {
    action: 'member.added',
    actor: byAda,
    subject: BO,
    repository: DEMO,
  });
  await recordAccessChange(sql, { action: 'token.added', actor: null, subject: BO });
  await recordAccessChange(sql, { action: 'token.revoked', actor: null, subject: ADA });
});
afterAll(() => database.drop());

const actions = async (filter: AuditFilter) =>
  (await listAudit(pool, filter)).map(({ action }) => action);

test('lines are listed the newest first, by repository and by account without case, each once', async () => {
  const all = ['token.revoked', 'token.added', 'member.added', 'repository.created'];
  expect(await actions({})).toEqual(all);
  expect(await actions({ repository: 'ada/DEMO' })).toEqual(['member.added', 'repository.created']);
  // By her and about her in one line.
  expect(await actions({ account: 'aDA' })).toEqual([
    'token.revoked',
    'member.added',
    'repository.created',
  ]);
  expect(await actions({ account: 'BO' })).toEqual(['token.added', 'member.added']);
  expect(await actions({ account: 'bo', repository: 'ada/demo' })).toEqual(['member.added']);
  expect(await actions({ account: 'cy' })).toEqual([]);
});

test('pages go on where the last one ended, also where lines come by two ways', async () => {
  const [first] = await listAudit(pool, { account: 'ada', limit: 1 });
  expect(first?.action).toBe('token.revoked');
  expect(await actions({ account: 'ada', limit: 1, after: Number(first?.id) })).toEqual([
    'member.added',
  ]);
});
