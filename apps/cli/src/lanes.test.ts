import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { createDeliverySeed, type DeliverySeed } from '../../../test/support/delivery-seed.js';
import { ghost } from '../../../test/support/ghost-cli.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';

let database: TestDatabase;
let seed: DeliverySeed;

beforeEach(async () => {
  database = await createTestDatabase();
  seed = await createDeliverySeed(database.url);
});
afterEach(async () => {
  await seed.close();
  await database.drop();
});

const lanes = (...args: string[]) => ghost(['lanes', ...args], { DATABASE_URL: database.url });

describe('ghost lanes', () => {
  test('holds a hook and lists it with its reason; resume makes its jobs due again', async () => {
    const hookId = await seed.hook('https://a.example');
    await seed.webhooks([hookId]);
    const lane = `hook:${hookId}`;
    expect(await lanes('hold', lane, '--reason', 'their maintenance')).toEqual({
      code: 0,
      out: `Lane ${lane} is held: 1 pending job is kept.\n`,
      err: '',
    });
    const listed = await lanes('list');
    expect(listed.out.split('\n')[1]).toMatch(
      new RegExp(`^${lane} +1 +0 +default +proven +2\\d{3}-\\S+ \\S+Z +their maintenance$`, 'u'),
    );
    const json = JSON.parse((await lanes('list', '--held', '--json')).out) as object;
    expect(json).toMatchObject([
      { lane, kind: 'webhook', pending: 1, heldReason: 'their maintenance', nextDue: null },
    ]);

    expect(await lanes('resume', lane)).toEqual({
      code: 0,
      out: `Lane ${lane} is resumed: 1 pending job is due.\n`,
      err: '',
    });
    const { rows } = await seed.pool.query(
      'SELECT held_reason, next_at <= now() AS due FROM delivery_lane',
    );
    expect(rows).toEqual([{ held_reason: null, due: true }]);
    expect(await lanes('list', '--held')).toEqual({ code: 0, out: '', err: 'No such lanes.\n' });
    expect((await lanes('list')).out).toContain(lane);
  });

  test('takes several lanes and mail domains in any case; tells apart what was refused, exit 1', async () => {
    await seed.mails(['reader@example.com', 'other@example.com']);
    expect(await lanes('hold', 'mail:Example.COM')).toMatchObject({
      code: 0,
      out: 'Lane mail:example.com is held: 2 pending jobs are kept.\n',
    });
    const both = await lanes('resume', 'mail:example.com', 'hook:999');
    expect(both).toEqual({
      code: 1,
      out: 'Lane mail:example.com is resumed: 2 pending jobs are due.\n',
      err: 'Lane hook:999 was not resumed: there is no such lane: no hook has this id.\n',
    });
    const json = await lanes('resume', 'mail:example.com', '--json');
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toEqual([
      { result: 'refused', lane: 'mail:example.com', reason: 'it is not held' },
    ]);
  });

  test('says in one sentence what is no lane or no reason, and has help with examples', async () => {
    expect(await lanes('hold', 'hook:999')).toMatchObject({
      code: 1,
      out: '',
      err: 'Lane hook:999 was not held: there is no such lane: no hook has this id.\n',
    });
    expect((await lanes('resume', '12')).err).toContain('a lane is hook:<id>, mail:<domain>');
    const lane = `hook:${await seed.hook('https://a.example')}`;
    const reasons = ['', 'two\nlines', 'x'.repeat(201)];
    for (const wrong of await Promise.all(
      reasons.map((reason) => lanes('hold', lane, '--reason', reason)),
    )) {
      expect(wrong.code).toBe(1);
      expect(wrong.err).toContain('one line of 1 to 200 characters');
    }
    expect((await lanes('list', '--all', '--json')).out).toBe('[]\n');
    for (const command of ['list', 'hold', 'resume']) {
      const help = await lanes(command, '--help');
      expect(help).toMatchObject({ code: 0, err: '' });
      expect(help.out).toContain(`npx ghost lanes ${command}`);
    }
  });

  test('limit sets what a lane may have in flight, for a domain with its bulk mail, and takes it back', async () => {
    const hookId = await seed.hook('https://a.example');
    await seed.mails(['reader@example.com']);
    expect(await lanes('limit', `hook:${hookId}`, 'mail:Example.com', '--slots', '4')).toEqual({
      code: 0,
      out: `Lane hook:${hookId} may have 4 jobs in flight.\nLane mail:example.com may have 4 jobs in flight.\n`,
      err: '',
    });
    const limits = await seed.pool.query('SELECT lane, slots FROM delivery_lane ORDER BY lane');
    expect(limits.rows).toEqual([
      { lane: `hook:${hookId}`, slots: 4 },
      { lane: 'mail:example.com', slots: 4 },
      { lane: 'mail:example.com:bulk', slots: 4 },
    ]);
    expect((await lanes('list', '--all')).out).toMatch(
      new RegExp(`^hook:${hookId} +0 +0 +4 +slow`, 'mu'),
    );
    expect((await lanes('limit', `hook:${hookId}`, '--slots', 'default')).out).toContain(
      'the default limit',
    );
  });

  test.each([
    [
      ['mail:example.com:bulk', '--slots', '4'],
      'its limit is that of its domain: name mail:example.com',
    ],
    [['mail:example.com', '--slots', '1'], '2 is the least'],
    [['hook:999', '--slots', '4'], 'no hook has this id'],
    [['hook:1', '--slots', '0'], 'It must be a whole number from 1 to 1000'],
    [['hook:1'], "required option '--slots <n>' not specified"],
  ])('limit %j is refused with what to do', async (args, reason) => {
    await seed.mails(['reader@example.com']);
    const { code, err } = await lanes('limit', ...args);
    expect([code, err]).toEqual([1, expect.stringContaining(reason)]);
  });
});
