import type { Pool } from '@ghost/db';
import {
  encrypt,
  generateKeyEntry,
  type KeyRing,
  parseKeyRing,
  sealHookHeaders,
} from '@ghost/vault';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { checkKeys } from './key-check.js';

const SECRETS = 505;

let database: TestDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = database.pool();
});
afterAll(() => database.drop());

function ring(text: string): KeyRing {
  const parsed = parseKeyRing(text);
  if (!parsed.ok) throw new Error(parsed.faults.join());
  return parsed.ring;
}

describe('checkKeys', () => {
  test('opens every secret, page after page, and tells those that it cannot open', async () => {
    const own = ring(generateKeyEntry('own'));
    const { rows } = await pool.query<{ id: string }>(
      `WITH a AS (INSERT INTO account (login, name) VALUES ('ada', 'Ada') RETURNING id),
         r AS (INSERT INTO repository (owner_id, name) SELECT id, 'demo' FROM a RETURNING id)
       INSERT INTO hook (repository_id, url, events)
       SELECT r.id, 'https://example.test/', '{*}' FROM r, generate_series(1, $1::int) RETURNING id`,
      [SECRETS],
    );
    const sealed = rows.map(({ id }) =>
      encrypt(own, `secret of ${id}`, { row: id, purpose: 'hook_secret' }),
    );
    await pool.query(
      'INSERT INTO hook_secret (hook_id, ciphertext) SELECT * FROM unnest($1::bigint[], $2::text[])',
      [rows.map((row) => row.id), sealed],
    );
    expect(await checkKeys(pool, own)).toEqual({ secrets: SECRETS, unreadable: 0, listed: [] });

    const sameName = await checkKeys(pool, ring(generateKeyEntry('own')));
    expect(sameName.unreadable).toBe(SECRETS);
    expect(sameName.listed).toHaveLength(20);
    expect(sameName.listed[0]).toMatchObject({ hookId: Number(rows[0]?.id), code: 'tampered' });
    const other = await checkKeys(pool, ring(generateKeyEntry('other')));
    expect(other.listed[0]?.code).toBe('unknown_key');

    // Copied to another row, an envelope opens no more.
    const last = rows.at(-1)?.id;
    await pool.query('UPDATE hook_secret SET ciphertext = $1 WHERE hook_id = $2', [
      sealed[0],
      last,
    ]);
    expect((await checkKeys(pool, own)).listed).toMatchObject([{ hookId: Number(last) }]);
  });

  test('heeds custom headers, and no secret that has ended', async () => {
    const [own, lost] = [ring(generateKeyEntry('own')), ring(generateKeyEntry('lost'))];
    await pool.query('DELETE FROM hook');
    const { rows } = await pool.query<{ id: string }>(
      `INSERT INTO hook (repository_id, url, events) SELECT id, 'https://example.test/', '{*}' FROM repository RETURNING id`,
    );
    const id = rows[0]?.id ?? '';
    const store = (headers: KeyRing) =>
      pool.query(`UPDATE hook SET header_names = '{x-a}', headers_ciphertext = $1`, [
        sealHookHeaders(headers, id, [['x-a', 'b']]),
      ]);
    await pool.query(
      `INSERT INTO hook_secret (hook_id, ciphertext, created_at, expires_at)
       VALUES ($1, $2, now() - interval '2 h', now() - interval '1 h'), ($1, $3, now(), NULL)`,
      [
        id,
        encrypt(lost, 'the old one', { row: id, purpose: 'hook_secret' }),
        encrypt(own, 'the new one', { row: id, purpose: 'hook_secret' }),
      ],
    );
    await store(own);
    expect(await checkKeys(pool, own)).toEqual({ secrets: 2, unreadable: 0, listed: [] });
    await store(lost);
    expect(await checkKeys(pool, own)).toMatchObject({
      secrets: 2,
      unreadable: 1,
      listed: [{ hookId: Number(id), code: 'unknown_key' }],
    });
  });
});
