import { describe, expect, test } from 'vitest';

import { seededDatabase } from '../../../test/support/delivery-worker.js';
import { startMailWorker } from '../../../test/support/mail-worker.js';
import { ADA, always, at, playMails } from '../../../test/support/play-mails.js';
import { startScriptedSmtp } from '../../../test/support/scripted-smtp.js';
import { untilTestEnds } from '../../../test/support/servers-of-a-test.js';
import { waitUntil } from '../../../test/support/wait-until.js';
import { MAIL_BUDGET_MS } from './rules/decide.js';

const HOUR_MS = 60 * 60_000;

describe('what speaks of one mail', () => {
  test('450, then 250: delivered by its second try', async () => {
    const { relay, ended, attempts } = await playMails(at('rcpt', '450 4.7.1 Greylisted'));
    expect(await ended()).toMatchObject({ status: 'delivered', attempts: 2, tries: 2 });
    expect(await attempts()).toEqual([
      [1, 'retry', 'deferred'],
      [2, 'delivered', null],
    ]);
    expect(relay.accepted).toEqual([ADA]);
  });

  test('550 5.1.1: dead, and the address gets no mail any more', async () => {
    const { relay, ended, suppressed, seed } = await playMails(
      at('rcpt', '550 5.1.1 No such user'),
    );
    expect(await ended()).toMatchObject({
      ...{ status: 'dead', attempts: 1, lastError: 'address_unknown' },
    });
    expect(await suppressed()).toEqual([
      { address: ADA, reason: 'address_unknown', strikes: 0, soft: false },
    ]);
    await seed.pool.query('UPDATE email_address SET is_primary = false');
    await seed.mails([ADA]);
    await ended();
    expect((await seed.jobs())[1]).toMatchObject({
      ...{ status: 'cancelled', attempts: 0, lastError: 'address_suppressed' },
    });
    expect(relay.came).toEqual([]);
  });

  test.each([
    ['550 5.1.2 Bad destination system', false],
    ['550 5.1.8 <noreply@ghost.example>: Sender address rejected: Domain not found', true],
  ])(
    '%s for an hour, while our own DNS is broken: delivered after it, nobody suppressed',
    async (reply, alarms) => {
      let now = Date.now();
      const { relay, ended, suppressed, worker } = await playMails(
        ({ phase }) => {
          if (phase !== 'rcpt') return undefined;
          now += HOUR_MS / 6;
          return now - Date.now() > HOUR_MS ? undefined : reply;
        },
        { now: () => now },
      );
      expect(await ended()).toMatchObject({ status: 'delivered', attempts: 7 });
      expect(await suppressed()).toEqual([]);
      expect(relay.accepted).toEqual([ADA]);
      const alarmed = worker.lines.filter((line) => line['alarm'] === true);
      expect(alarmed).toHaveLength(alarms ? 6 : 0);
    },
  );

  test('550 5.1.2 for 48 hours: dead, and suppressed', async () => {
    let now = Date.now();
    const { relay, ended, suppressed } = await playMails(
      ({ phase }) => {
        if (phase !== 'rcpt') return undefined;
        now += MAIL_BUDGET_MS / 3 + 1_000;
        return '550 5.1.2 Bad destination system';
      },
      { now: () => now },
    );
    expect(await ended()).toMatchObject({
      ...{ status: 'dead', attempts: 3, lastError: 'domain_unknown' },
    });
    expect(await suppressed()).toMatchObject([{ address: ADA, reason: 'domain_unknown' }]);
    expect(relay.came).toEqual([]);
  });

  test.each([
    ['a mail that waited so long for the relay', ['550 5.1.2 Bad destination system']],
    ['who was deferred before', ['450 4.2.0 Later', '450 4.2.0 Later', '550 5.1.2 Bad']],
    ['whose domain was known between', ['550 5.1.2 Bad', '450 4.2.0 Later', '550 5.1.2 Bad']],
  ])(
    '550 5.1.2 at the end of 48 hours, for %s: dead, nobody suppressed',
    async (_what, replies) => {
      let now = Date.now();
      const answers = [...replies];
      const { ended, suppressed } = await playMails(
        ({ phase }) => {
          if (phase !== 'rcpt') return undefined;
          now += MAIL_BUDGET_MS / replies.length + 1_000;
          return answers.shift();
        },
        { now: () => now },
      );
      expect(await ended()).toMatchObject({
        ...{ status: 'dead', attempts: replies.length, lastError: 'domain_unknown' },
      });
      expect(await suppressed()).toEqual([]);
    },
  );

  test('550 5.7.1: dead with an alarm, never suppressed', async () => {
    const { relay, ended, suppressed, worker } = await playMails(
      always('rcpt', '550 5.7.1 Message refused by policy'),
    );
    expect(await ended()).toMatchObject({
      ...{ status: 'dead', attempts: 1, lastError: 'policy_refused' },
    });
    expect(await suppressed()).toEqual([]);
    expect(worker.lines).toContainEqual(
      expect.objectContaining({ event: 'delivery.attempted', alarm: true, level: 50 }),
    );
    expect(relay.came).toEqual([]);
  });

  test('552 5.2.2: tried a few times, then dead and suppressed for a while', async () => {
    const { relay, ended, suppressed, attempts } = await playMails(
      always('rcpt', '552 5.2.2 Mailbox full'),
    );
    expect(await ended()).toMatchObject({
      ...{ status: 'dead', attempts: 5, lastError: 'mailbox_full' },
    });
    expect((await attempts()).map(([, outcome]) => outcome)).toEqual([
      ...['retry', 'retry', 'retry', 'retry', 'dead'],
    ]);
    expect(await suppressed()).toMatchObject([{ address: ADA, soft: true }]);
    expect(relay.came).toEqual([]);
  });

  test('552 5.2.2 that passes: delivered, nobody suppressed', async () => {
    const full = '552 5.2.2 Mailbox full';
    const { relay, ended, suppressed } = await playMails(at('rcpt', full, full, full));
    expect(await ended()).toMatchObject({ status: 'delivered', attempts: 4 });
    expect(await suppressed()).toEqual([]);
    expect(relay.accepted).toEqual([ADA]);
  });

  test('a mail that is refused by the letters of its address is dead, and its relay goes on', async () => {
    const { ended, rests, suppressed } = await playMails(
      always('mail', '550 5.6.7 Non-ASCII addresses not permitted'),
    );
    expect(await ended()).toMatchObject({ status: 'dead', lastError: 'address_invalid' });
    expect(rests()).toEqual([]);
    expect(await suppressed()).toEqual([]);
  });

  test.each([
    ['one by one', []],
    ['at once', ['PIPELINING']],
  ])(
    'of 10 readers one refused, one deferred, one malformed, with commands %s: each by itself',
    async (_how, offers) => {
      const to = Array.from({ length: 10 }, (_, index) => `r${index}@readers.example`);
      to[4] = 'two words@readers.example';
      const replies = new Map<string, string>([
        ['r2@readers.example', '550 5.1.1 No such user'],
        ['r7@readers.example', '451 4.3.0 Later'],
      ]);
      const { relay, jobs, ended, suppressed } = await playMails(
        ({ phase, to: reader }) => {
          if (phase !== 'rcpt') return undefined;
          const reply = replies.get(reader);
          if (reply?.startsWith('4')) replies.delete(reader);
          return reply;
        },
        { to, offers },
      );
      await ended();
      expect(await jobs()).toEqual(
        to.map((_, index) => {
          if (index === 2) return { status: 'dead', charged: 1, lastError: 'address_unknown' };
          if (index === 4) return { status: 'dead', charged: 1, lastError: 'address_invalid' };
          return { status: 'delivered', charged: index === 7 ? 2 : 1, lastError: null };
        }),
      );
      expect(relay.accepted.toSorted()).toEqual(to.filter((_, n) => n !== 2 && n !== 4).toSorted());
      expect(await suppressed()).toMatchObject([{ address: 'r2@readers.example' }]);
    },
  );
});

describe('one domain', () => {
  test('with many mails that take long does not make the mail of another wait for all of them', async () => {
    const many = Array.from({ length: 60 }, (_, n) => `r${n}@many.example`);
    const { relay, seed, until } = await playMails(
      ({ phase }) => (phase === 'dot' ? { reply: '250 2.0.0 fine', afterMs: 150 } : undefined),
      { to: many },
    );
    await until('the first mails', () => relay.came.length >= 10);
    const before = relay.came.length;
    await seed.mails(['lone@other.example']);
    await until('the other mail', () => relay.came.includes('lone@other.example'));
    expect(relay.came.indexOf('lone@other.example') - before).toBeLessThanOrEqual(30);
    expect(relay.came.length).toBeLessThan(many.length);
  });

  test('that defers all its mails costs those of another nothing', async () => {
    const deferring = Array.from({ length: 10 }, (_, n) => `r${n}@deferring.example`);
    const { relay, seed, until, rests } = await playMails(
      ({ phase, to }) =>
        phase === 'rcpt' && to.endsWith('@deferring.example') ? '451 4.7.1 Later' : undefined,
      { to: [...deferring, 'lone@other.example'], random: () => 0.99 },
    );
    const tried = async () => (await seed.jobs()).every(({ attempts }) => attempts === 1);
    await until('each to be tried', tried);
    expect(relay.accepted).toEqual(['lone@other.example']);
    expect(rests()).toEqual([]);
    const waiting = (await seed.jobs()).filter(({ status }) => status === 'pending');
    expect(waiting).toHaveLength(deferring.length);
    for (const { dueInMs } of waiting) expect(dueInMs).toBeGreaterThan(50_000);
  });
});

describe('a suppression', () => {
  test('that cannot be written yet is written before the mail ends', async () => {
    let faults = 2;
    const { ended, suppressed } = await playMails(always('rcpt', '550 5.1.1 No such user'), {
      suppress: async (write) => {
        faults -= 1;
        if (faults >= 0) throw Object.assign(new Error('away'), { code: '57P01' });
        await write();
      },
    });
    expect(await ended()).toMatchObject({ status: 'dead', attempts: 1 });
    expect(await suppressed()).toHaveLength(1);
  });

  test('is there when the process dies before the mail ends, and the next one sends nothing', async () => {
    const { databaseUrl, seed } = await seededDatabase();
    const relay = untilTestEnds(
      await startScriptedSmtp({ answer: always('rcpt', '550 5.1.1 No such user') }),
    );
    await seed.mails([ADA]);
    const relayUrl = `smtp://127.0.0.1:${relay.port}`;
    let noted = false;
    const dying = await startMailWorker(databaseUrl, {
      ...{ relayUrl, leaseMs: 600 },
      suppress: async (write) => {
        await write();
        noted = true;
        // As good as dead: nothing of it comes any more.
        await new Promise(() => undefined);
      },
    });
    await waitUntil(() => noted, { what: 'the suppression' });
    expect(await seed.jobs()).toMatchObject([{ status: 'pending' }]);
    await dying.stop(0);
    await startMailWorker(databaseUrl, { relayUrl });
    const status = async () => (await seed.jobs())[0]?.status;
    await waitUntil(async () => (await status()) === 'cancelled', { what: 'the mail to end' });
    expect(await seed.jobs()).toMatchObject([{ lastError: 'address_suppressed' }]);
    expect(relay.moments.filter(({ phase }) => phase === 'rcpt')).toHaveLength(1);
  });
});
