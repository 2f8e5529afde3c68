import { randomBytes } from 'node:crypto';

import { expect, onTestFinished, test } from 'vitest';

import { refuseToWaitForDisk } from '../../../test/support/refuse-to-wait-for-disk.js';
import { createTestDatabase, openPool } from '../../../test/support/test-database.js';
import { checkCommit } from './start-checks.js';

test('a user who may not wait for the disk is told what is missing, before the first transaction is kept and told as failed', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const pool = openPool(database.url);
  onTestFinished(() => pool.end());
  const role = `clerk_${randomBytes(6).toString('hex')}`;
  await pool.query(`CREATE ROLE ${role}`);
  onTestFinished(async () => {
    await pool.query(`DROP ROLE ${role}`);
  });
  const clerks = openPool(`${database.url}?options=-c%20role%3D${role}`);
  onTestFinished(() => clerks.end());
  await expect(checkCommit(clerks, database.url)).resolves.toBeUndefined();

  await refuseToWaitForDisk(pool);
  await expect(checkCommit(clerks, database.url)).rejects.toMatchObject({
    exitCode: 78,
    message: expect.stringMatching(/Grant it EXECUTE on the function pg_logical_emit_message\.$/u),
  });
});
