import { describe, expect, test } from 'vitest';

import {
  ADA,
  always,
  at,
  AUTH,
  faultsInTurn,
  linesOf,
  playMails,
  SHORT,
  SILENCE,
  trusting,
} from '../../../test/support/play-mails.js';
import type { SmtpAnswer, SmtpScript } from '../../../test/support/scripted-smtp.js';
import {
  EXPIRED_CERTIFICATE,
  TEST_CERTIFICATE,
  TEST_CERTIFICATE_KEY,
} from '../../../test/support/tls-certificate.js';

describe('what speaks of the relay', () => {
  test('before MAIL FROM: it rests, nothing is charged, and the mail goes when it works', async () => {
    const faults = faultsInTurn([
      ['banner', '421 4.3.2 Closing', 'relay_closing'],
      ['banner', '554 5.7.1 Not you', 'relay_refused'],
      ['auth', '535 5.7.8 Wrong password', 'relay_auth'],
      ['banner', { drop: true }, 'relay_unreachable'],
      ['ehlo', { drop: true }, 'relay_unreachable'],
      ['banner', SILENCE, 'relay_silent'],
      ['ehlo', SILENCE, 'relay_silent'],
      ['auth', SILENCE, 'relay_silent'],
      ['ehlo', { drip: linesOf(500, '250 done'), everyMs: 20 }, 'relay_silent'],
      // It keeps the connection, so it comes last.
      ['mail', '530 5.7.0 Authentication required', 'relay_auth'],
    ]);
    const { relay, ended, attempts, rests, worker } = await playMails(faults.answer, {
      ...{ login: AUTH, times: SHORT, pauses: { firstMs: 20, longestMs: 20 } },
    });
    expect(await ended()).toMatchObject({ status: 'delivered', attempts: 1, tries: 1 });
    expect(await attempts()).toEqual([[1, 'delivered', null]]);
    expect(rests().map(({ reason }) => reason)).toEqual(faults.reasons);
    // A log-in that is refused is a person's to mend, and so is what does not pass.
    expect(rests().map(({ level }) => level)).toEqual([40, 40, 50, 40, 50, 50, 50, 50, 50, 50]);
    expect(worker.lines).toContainEqual(
      expect.objectContaining({ event: 'delivery.relay_works', failures: 10 }),
    );
    expect(relay.accepted).toEqual([ADA]);
    expect(relay.connections()).toBeLessThanOrEqual(faults.reasons.length + 1);
  });

  test.each([
    ['one by one', []],
    ['at once', ['PIPELINING']],
  ])(
    'from MAIL FROM on, with commands %s: the mail is put back uncharged too, and others are tried before it',
    async (_how, offers) => {
      const faults = faultsInTurn([
        ['rcpt', '421 4.7.0 Too many', 'relay_closing'],
        ['dot', '421 4.3.2 Bye', 'relay_closing'],
        ['mail', { drop: true }, 'relay_unreachable'],
        ['rcpt', { drop: true }, 'relay_unreachable'],
        ['mail', SILENCE, 'relay_silent'],
        ['rcpt', SILENCE, 'relay_silent'],
        ['data', SILENCE, 'relay_silent'],
        // These keep the connection.
        ['mail', '550 5.1.8 Sender unknown', 'sender_refused'],
        ['mail', '550 5.7.1 Sender denied', 'sender_refused'],
        ['mail', '452 4.3.1 Disk full', 'relay_deferred'],
        ['rcpt', '554 5.7.1 <a@b.example>: Relay access denied', 'relaying_denied'],
      ]);
      const { relay, ended, attempts, rests, until, hurry, jobs, seed, suppressed } =
        await playMails(faults.answer, {
          offers,
          times: SHORT,
          pauses: { firstMs: 20, longestMs: 20 },
        });
      for (const [place, reason] of faults.reasons.entries()) {
        await until(`fault ${place + 1}`, async () => (await attempts()).length === place + 1);
        expect(await jobs()).toEqual([{ status: 'pending', charged: 0, lastError: reason }]);
        if (place + 1 < faults.reasons.length) await hurry();
      }
      expect(await attempts()).toEqual(
        faults.reasons.map((reason) => [null, 'relay_paused', reason]),
      );
      expect(rests().map(({ reason }) => reason)).toEqual(faults.reasons);
      expect((await seed.jobs())[0]?.dueInMs).toBeGreaterThan(20_000);
      const later = 'ben@one.example';
      await seed.mails([later]);
      await until('the other mail', () => relay.accepted.length === 1);
      await hurry();
      expect(await ended()).toMatchObject({ status: 'delivered', attempts: 1, tries: 1 });
      expect(relay.accepted).toEqual([later, ADA]);
      expect(await suppressed()).toEqual([]);
    },
  );

  test('no STARTTLS: nothing goes in clear, and the mail waits', async () => {
    const { relay, until, rests, jobs } = await playMails(() => undefined, {
      ...{ login: AUTH, env: { GHOST_SMTP_TLS: 'required' } },
    });
    await until('a second rest', () => rests().length >= 2);
    expect(rests()[0]).toMatchObject({ reason: 'relay_tls', level: 50 });
    expect(await jobs()).toEqual([{ status: 'pending', charged: 0, lastError: null }]);
    expect(relay.came).toEqual([]);
    expect(new Set(relay.moments.map(({ phase }) => phase))).toEqual(
      new Set(['banner', 'ehlo', 'starttls']),
    );
  });

  const TLS = { key: TEST_CERTIFICATE_KEY, cert: TEST_CERTIFICATE };
  test('STARTTLS refused by 454: nothing goes in clear, and the mail goes when it is not', async () => {
    const { relay, ended, rests, attempts } = await playMails(
      at('starttls', '454 4.7.0 TLS not available'),
      {
        ...{ login: AUTH, tls: TLS, env: await trusting(TEST_CERTIFICATE) },
      },
    );
    expect(await ended()).toMatchObject({ status: 'delivered', attempts: 1 });
    expect(rests()).toMatchObject([{ reason: 'relay_tls', failures: 1 }]);
    expect(await attempts()).toEqual([[1, 'delivered', null]]);
    const clear = relay.moments.filter(({ secure }) => !secure).map(({ phase }) => phase);
    expect(new Set(clear)).toEqual(new Set(['banner', 'ehlo', 'starttls']));
    expect(relay.accepted).toEqual([ADA]);
  });

  test('silent or cut on the way to TLS: nothing goes in clear, and the mail goes when it is not', async () => {
    const faults = faultsInTurn([
      ['starttls', SILENCE, 'relay_silent'],
      ['starttls', { drop: true }, 'relay_unreachable'],
      ['starttls', { drop: true, after: '220 go on' }, 'relay_unreachable'],
      // It says that it begins, and does not.
      ['starttls', { reply: '220 go on', afterMs: 0 }, 'relay_silent'],
    ]);
    const { relay, ended, rests } = await playMails(faults.answer, {
      ...{
        login: AUTH,
        tls: TLS,
        env: await trusting(TEST_CERTIFICATE),
        times: { toTheDotMs: 600 },
      },
      pauses: { firstMs: 20, longestMs: 20 },
    });
    expect(await ended()).toMatchObject({ status: 'delivered', attempts: 1 });
    // A handshake takes its time on a busy machine.
    expect(
      rests()
        .map(({ reason }) => reason)
        .slice(0, 4),
    ).toEqual(faults.reasons);
    const clear = relay.moments.filter(({ secure }) => !secure).map(({ phase }) => phase);
    expect(new Set(clear)).toEqual(new Set(['banner', 'ehlo', 'starttls']));
  });

  test('lines that were put in before TLS are no replies', async () => {
    const { relay, ended, rests } = await playMails(
      at('starttls', '220 go on\r\n250-relay\r\n250 SIZE 1\r\n235 2.7.0 Welcome'),
      { login: AUTH, tls: TLS, env: await trusting(TEST_CERTIFICATE) },
    );
    expect(await ended()).toMatchObject({ status: 'delivered', attempts: 1 });
    expect(rests()).toEqual([]);
    // After TLS it is asked anew for all that it said in clear.
    const secure = relay.moments.filter((moment) => moment.secure).map(({ phase }) => phase);
    expect(secure.slice(0, 3)).toEqual(['ehlo', 'auth', 'mail']);
    expect(relay.accepted).toEqual([ADA]);
  });

  test.each([
    ['of an unknown authority', TEST_CERTIFICATE, '127.0.0.1', false],
    ['that has expired', EXPIRED_CERTIFICATE, '127.0.0.1', true],
    ['of another name', TEST_CERTIFICATE, 'localhost', true],
  ])('a certificate %s: no log-in, no mail', async (_what, cert, host, trusted) => {
    const env = trusted ? await trusting(TEST_CERTIFICATE) : { GHOST_SMTP_TLS: 'required' };
    const { relay, until, rests, jobs, worker } = await playMails(() => undefined, {
      ...{ login: AUTH, host, tls: { ...TLS, cert }, env },
    });
    await until('a second rest', () => rests().length >= 2);
    expect(rests()[0]).toMatchObject({ reason: 'relay_tls' });
    expect(await jobs()).toEqual([{ status: 'pending', charged: 0, lastError: null }]);
    expect(relay.moments.some(({ phase }) => phase === 'auth' || phase === 'mail')).toBe(false);
    await expect(worker.check()).rejects.toThrow(/No secure connection.*certificate/u);
  });
});

describe('a relay that is silent or slow', () => {
  test.each<[string, SmtpAnswer]>([
    ['silence', SILENCE],
    ['a cut', { drop: true }],
  ])('%s after the dot: it may have the mail, which is tried again late', async (_what, answer) => {
    const { relay, seed, until, rests } = await playMails(at('dot', answer), { times: SHORT });
    await until('the try to be settled', async () => (await seed.attempts()).length === 1);
    const [job] = await seed.jobs();
    expect(job).toMatchObject({ status: 'pending', attempts: 1, lastError: 'uncertain' });
    expect(job?.dueInMs).toBeGreaterThan(29 * 60_000);
    expect(rests()).toMatchObject([{ reason: 'uncertain' }]);
    expect(relay.came).toEqual([ADA]);
  });

  test('that takes longer than the whole way to the dot for its 250: one mail, one try, its lease kept', async () => {
    const { relay, ended, seed } = await playMails(
      at('dot', { reply: '250 2.0.0 at last', afterMs: 1_400 }),
      { times: { toTheDotMs: 300, afterTheDotMs: 60_000 }, leaseMs: 900 },
    );
    expect(await ended()).toMatchObject({ status: 'delivered', attempts: 1, leaseNo: 1 });
    expect(relay.came).toEqual([ADA]);
    expect(await seed.attempts()).toHaveLength(1);
  });

  test('that drips its replies line by line: taken as one, within the deadline', async () => {
    const { relay, ended } = await playMails(
      ({ phase }) =>
        phase === 'ehlo' || phase === 'rcpt'
          ? { drip: linesOf(8, '250 done'), everyMs: 20 }
          : undefined,
      { times: { toTheDotMs: 3_000 } },
    );
    expect(await ended()).toMatchObject({ status: 'delivered', attempts: 1 });
    expect(relay.accepted).toEqual([ADA]);
  });

  test('that cuts within the content: the mail is charged, and the relay rests too', async () => {
    const { attempts, ended, rests } = await playMails(at('content', { drop: true }), {
      text: 'x'.repeat(400_000),
    });
    expect(await ended()).toMatchObject({ status: 'delivered' });
    expect((await attempts())[0]).toEqual([1, 'retry', 'connection_lost']);
    expect(rests()).toMatchObject([{ reason: 'connection_lost' }]);
  });
});

describe('a relay at fault for hours', () => {
  test.each<[string, SmtpScript['answer'], string]>([
    ['535', always('auth', '535 5.7.8 Wrong password'), 'relay_auth'],
    ['554 at the banner', always('banner', '554 5.7.1 Not you'), 'relay_refused'],
    ['530', always('mail', '530 5.7.0 Must issue STARTTLS first'), 'relay_auth'],
    ['550 at MAIL FROM', always('mail', '550 5.7.1 Sender denied'), 'sender_refused'],
  ])(
    '%s: of many mails none is charged; all go out once it is mended',
    async (_what, answer, reason) => {
      let broken = true;
      const to = Array.from({ length: 20 }, (_, n) => `r${n}@d${n % 3}.example`);
      const { relay, until, jobs, rests, ended, hurry } = await playMails(
        (moment) => (broken ? answer(moment) : undefined),
        { to, login: 'ghost:secret@' },
      );
      await until('three rests', () => rests().length >= 3);
      // At first as many as go at once, then a probe a rest.
      expect(relay.connections()).toBeLessThanOrEqual(10 + 3);
      expect(new Set(rests().map((line) => line['reason']))).toEqual(new Set([reason]));
      expect(
        (await jobs()).every(({ status, charged }) => status === 'pending' && charged === 0),
      ).toBe(true);
      broken = false;
      await until('the first mail', () => relay.accepted.length > 0);
      await hurry();
      await ended();
      expect(
        (await jobs()).every(({ status, charged }) => status === 'delivered' && charged === 1),
      ).toBe(true);
      expect(relay.accepted.toSorted()).toEqual(to.toSorted());
    },
  );

  test('mails that wait for their turn under its rate do not go to it while it rests', async () => {
    const to = Array.from({ length: 10 }, (_, n) => `r${n}@one.example`);
    const { relay, until, seed, worker } = await playMails(always('banner', { drop: true }), {
      ...{ to, env: { GHOST_RELAY_RATE: '5/s' }, pauses: { firstMs: 5_000, longestMs: 5_000 } },
    });
    const back = (reason: string) =>
      worker.lines.filter((line) => line['outcome'] === 'released' && line['reason'] === reason);
    await until('those in hand to be given back', async () => {
      const inHand = (await seed.jobs()).some(({ leased }) => leased);
      return !inHand && back('relay_rests').length >= 2;
    });
    expect(relay.connections()).toBe(back('relay_unreachable').length);
    expect((await seed.jobs()).every(({ attempts }) => attempts === 0)).toBe(true);
  });

  test('the oldest goes first once it is mended', async () => {
    let broken = true;
    const to = Array.from({ length: 40 }, (_, n) => `r${n}@one.example`);
    const { relay, until, rests, ended } = await playMails(
      ({ phase }) => (broken && phase === 'auth' ? '535 5.7.8 Wrong password' : undefined),
      { to, login: 'ghost:secret@' },
    );
    await until('three rests', () => rests().length >= 3);
    broken = false;
    await ended();
    expect(relay.accepted).toHaveLength(40);
    expect(relay.accepted[0]).toBe(to[0]);
    // Ten go at once.
    for (const [place, reader] of relay.accepted.entries()) {
      expect(Math.abs(place - to.indexOf(reader))).toBeLessThan(10);
    }
  });
});
