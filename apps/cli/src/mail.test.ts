import { bounceAddress } from '@ghost/vault';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import {
  createDeliverySeed,
  type DeliverySeed,
  keyRing,
  SEED_KEYS,
} from '../../../test/support/delivery-seed.js';
import { ghost } from '../../../test/support/ghost-cli.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';

let database: TestDatabase;
let seed: DeliverySeed;

beforeEach(async () => {
  database = await createTestDatabase();
  seed = await createDeliverySeed(database.url);
  await seed.pool.query(
    `INSERT INTO mail_suppression (address, reason, since, until, strikes) VALUES
       ('gone@people.example', 'address_unknown', '2026-01-02', NULL, 0),
       ('full@people.example', 'mailbox_full', '2026-01-02', '2026-01-09', 0),
       ('once@people.example', 'refused', NULL, NULL, 1)`,
  );
});
afterEach(async () => {
  await seed.close();
  await database.drop();
});

const env = () => ({ DATABASE_URL: database.url, GHOST_SECRET_KEYS: SEED_KEYS });
const mail = (...args: string[]) => ghost(['mail', ...args], env());

describe('ghost mail suppressions', () => {
  test('lists addresses with why, since when and until when they get no mail', async () => {
    const { out } = await mail('suppressions', 'list');
    expect(out.split('\n').slice(0, 4)).toEqual([
      expect.stringMatching(/^ADDRESS +REASON +MAIL +SINCE +UNTIL +STRIKES$/u),
      expect.stringMatching(/^full@.* mailbox_full +yes +2026-01-02 .*Z +2026-01-09 /u),
      expect.stringMatching(/^gone@.* address_unknown +none +2026-01-02 .*Z +for good +0$/u),
      expect.stringMatching(/^once@.* refused +yes +1$/u),
    ]);
    const active = JSON.parse((await mail('suppressions', 'list', '--active', '--json')).out);
    expect(active).toMatchObject([{ address: 'gone@people.example', active: true }]);
    const one = await mail('suppressions', 'list', '--address', 'ONCE@people.example');
    expect(one.out).toContain('once@people.example');
    const page = await mail('suppressions', 'list', '--limit', '1');
    expect(page.err).toContain('--after full@people.example');
  });

  test('lift lets addresses have mail again, whatever their case, and says what it did not know', async () => {
    const lifted = await mail('suppressions', 'lift', 'Gone@People.example', 'new@people.example');
    expect(lifted).toEqual({
      code: 1,
      out: 'Gone@People.example gets mail again.\n',
      err: 'Nothing is known against new@people.example.\n',
    });
    expect((await mail('suppressions', 'list', '--active')).err).toBe('No such addresses.\n');
  });
});

describe('ghost mail report', () => {
  const bounce = (to: string) =>
    `To: ${to}\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; x\n\nAction: failed\nStatus: 5.1.1\n\n--b--\n`;
  const report = (input: string, ...args: string[]) =>
    ghost(['mail', 'report', ...args], env(), input);

  test('counts a bounce against the address of its mail', async () => {
    const [id = ''] = await seed.mails(['bounced@people.example']);
    const path = bounceAddress(keyRing(), id, 'bounces.example');
    expect(await report(bounce(path))).toMatchObject({
      code: 0,
      out: `Counted against the address of mail ${id}: hard (address_unknown).\n`,
    });
    const listed = await mail('suppressions', 'list', '--address', 'bounced@people.example');
    expect(listed.out).toContain('address_unknown');
    const told = await report(bounce('x@y.example'), '--recipient', path, '--json');
    expect(JSON.parse(told.out)).toMatchObject({ effect: 'suppressed', jobId: id });
  });

  test('says why a message counts for nothing, and that a key ring is missing', async () => {
    expect((await report(bounce('x@y.example'))).out).toContain('no_valid_return_path');
    const keyless = await ghost(['mail', 'report'], { DATABASE_URL: database.url }, 'x');
    expect(keyless).toMatchObject({ code: 78 });
    expect(keyless.err).toContain('GHOST_SECRET_KEYS is not set');
  });
});
