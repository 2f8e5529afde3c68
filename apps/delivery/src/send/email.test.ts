import type { Socket } from 'node:net';

import type { AttemptOutcome, EmailMessage } from '@ghost/contract';
import { simpleParser } from 'mailparser';
import { createTransport } from 'nodemailer';
import { afterEach, describe, expect, test, vi } from 'vitest';

import {
  type MailCatcherOptions,
  startMailCatcher,
} from '../../../../test/support/mail-catcher.js';
import { startRawServer } from '../../../../test/support/raw-server.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { type EmailSenderOptions, sendEmail } from './email.js';
import { createRelayRate } from './relay-rate.js';
import { Relay } from './relay.js';
import { trackProgress } from './smtp-session.js';

const ID = '01934f6e-8a1c-7c3a-9b1f-5f3c2d1e0a9b';
const LONG_LINK = `https://ghost.example.com/unsubscribe/${'t0k3n'.repeat(30)}`;

function mail(more: Partial<EmailMessage> = {}): EmailMessage {
  return {
    envelopeFrom: 'bounces@ghost.example.com',
    from: { name: 'Doe, Žofie (Ghost)', address: 'ghost@ghost.example.com' },
    to: { name: 'x <y@z>', address: 'ada@readers.example' },
    subject: 'Re: [ghost/core] Größe 🎉',
    text: `Hello\n.\n日本語 ${'x'.repeat(2_000)}\n`,
    html: '<p>Hello <b>日本語</b></p>',
    date: '2026-11-29T12:00:00.000Z',
    messageId: `<${ID}@ghost.example.com>`,
    inReplyTo: '<thread-1@ghost.example.com>',
    references: ['<thread-1@ghost.example.com>', '<comment-7@ghost.example.com>'],
    headers: {
      'List-Unsubscribe': `<${LONG_LINK}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'Auto-Submitted': 'auto-generated',
    },
    ...more,
  };
}

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

function sender(port: number, more: Partial<EmailSenderOptions> & { transport?: never } = {}) {
  const transport = createTransport({
    pool: true,
    host: '127.0.0.1',
    port,
    ignoreTLS: true,
    maxConnections: 2,
    maxRequeues: 0,
    idleTimeout: 60_000,
    connectionTimeout: 3_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  trackProgress(transport);
  cleanups.push(() => transport.close());
  const relay = new Relay({
    connections: 2,
    pause: async () => undefined,
    monotonic: () => performance.now(),
  });
  const options: EmailSenderOptions = {
    transport,
    relay,
    confirm: async () => 'current',
    now: () => Date.now(),
    ...more,
  };
  return {
    relay,
    transport,
    send: (message = mail(), stop = new AbortController().signal) =>
      sendEmail({ id: ID, message }, options, stop),
  };
}

async function catcher(options?: MailCatcherOptions) {
  const started = await startMailCatcher(options);
  cleanups.push(() => started.stop());
  return started;
}

/** A relay that says what a script tells: the reply to each command by its verb. */
async function scriptedRelay(
  reply: (verb: string, line: string, socket: Socket, connection: number) => string | undefined,
  greeting = '220 relay',
) {
  const started = await startRawServer((socket, connection) => {
    socket.write(`${greeting}\r\n`);
    let inData = false;
    let buffered = '';
    socket.on('data', (chunk) => {
      buffered += chunk.toString('latin1');
      if (inData) {
        if (!buffered.endsWith('\r\n.\r\n')) return;
        inData = false;
        buffered = '';
        const answer = reply('.', '', socket, connection);
        if (answer !== undefined) socket.write(`${answer}\r\n`);
        return;
      }
      const lines = buffered.split('\r\n');
      buffered = lines.pop() ?? '';
      for (const line of lines) {
        const verb = line.split(' ')[0]?.toUpperCase() ?? '';
        const answer = reply(verb, line, socket, connection);
        if (verb === 'DATA' && answer?.startsWith('354')) inData = true;
        if (answer !== undefined) socket.write(`${answer}\r\n`);
      }
    });
  });
  cleanups.push(() => started.stop());
  return started;
}
const polite = (verb: string): string => (verb === 'DATA' ? '354 go on' : '250 fine');

describe('a mail', () => {
  test('reaches one recipient with its parts, and nobody else', async () => {
    const relay = await catcher();
    const { outcome } = await sender(relay.port).send();
    expect(outcome).toMatchObject({ verdict: 'delivered', facts: { status: 250 } });
    const [caught] = relay.mails();
    expect(caught?.envelope).toEqual({
      from: 'bounces@ghost.example.com',
      to: ['ada@readers.example'],
    });
    const parsed = await simpleParser(caught?.raw ?? '');
    expect(parsed.from?.value).toEqual([
      { name: 'Doe, Žofie (Ghost)', address: 'ghost@ghost.example.com' },
    ]);
    expect(parsed.to).toMatchObject({
      value: [{ name: 'x <y@z>', address: 'ada@readers.example' }],
    });
    expect(parsed.subject).toBe('Re: [ghost/core] Größe 🎉');
    expect(parsed.messageId).toBe(`<${ID}@ghost.example.com>`);
    expect(parsed.inReplyTo).toBe('<thread-1@ghost.example.com>');
    expect(parsed.references).toEqual([
      '<thread-1@ghost.example.com>',
      '<comment-7@ghost.example.com>',
    ]);
    expect(parsed.date?.toISOString()).toBe('2026-11-29T12:00:00.000Z');
    expect(parsed.text?.trimEnd()).toBe(mail().text.trimEnd());
    expect(parsed.html).toContain('<b>日本語</b>');
    expect(parsed.headers.get('auto-submitted')).toBe('auto-generated');
    const raw = caught?.raw.toString() ?? '';
    expect(raw).not.toMatch(/X-Mailer/iu);
    // RFC 2369: the link must come through in one piece.
    expect(raw.replaceAll(/\r\n[ \t]/gu, '')).toContain(`<${LONG_LINK}>`);
    expect(Math.max(...raw.split('\r\n').map((line) => line.length))).toBeLessThan(999);
  });

  test('has the same bytes on every attempt, whoever sends it', async () => {
    let failures = 1;
    const seen: string[] = [];
    const relay = await catcher({
      onData: ({ raw }) => {
        seen.push(raw.toString('latin1'));
        failures -= 1;
        return failures >= 0 ? { code: 451, text: '4.3.0 Later' } : undefined;
      },
    });
    expect((await sender(relay.port).send()).outcome).toMatchObject({ reason: 'deferred' });
    expect((await sender(relay.port).send()).outcome.verdict).toBe('delivered');
    expect(seen).toHaveLength(2);
    expect(seen[1]).toBe(seen[0]);
  });

  test.each(['u@e, evil@x.example', 'u@e>\r\nRCPT TO:<evil@x.example', 'no-at-sign'])(
    'to %j goes to nobody',
    async (address) => {
      const relay = await catcher();
      const { outcome } = await sender(relay.port).send(mail({ to: { name: '', address } }));
      expect(outcome).toMatchObject({ verdict: 'dead', reason: 'address_invalid' });
      expect(relay.mails()).toHaveLength(0);
    },
  );

  test('with a header that names a recipient keeps its envelope', async () => {
    const relay = await catcher();
    await sender(relay.port).send(mail({ headers: { Bcc: 'evil@x.example', 'X-Odd': 'a, b' } }));
    const [caught] = relay.mails();
    expect(caught?.envelope.to).toEqual(['ada@readers.example']);
    expect(caught?.raw.toString()).not.toContain('evil');
  });

  test('whose job is no longer current is not handed over', async () => {
    const relay = await catcher();
    const { outcome } = await sender(relay.port, { confirm: async () => 'lost' }).send();
    expect(outcome).toEqual({ verdict: 'released', reason: 'no_longer_current' });
    expect(relay.mails()).toHaveLength(0);
  });

  test('whose address is no longer its reader’s is cancelled, and not handed over', async () => {
    const relay = await catcher();
    const { outcome } = await sender(relay.port, { confirm: async () => 'address_removed' }).send();
    expect(outcome).toEqual({ verdict: 'cancelled', reason: 'address_removed' });
    expect(relay.mails()).toHaveLength(0);
  });
});

describe('whether a job is current', () => {
  test('is asked after the greeting, just before MAIL FROM', async () => {
    const asked: string[] = [];
    let greet = (): void => undefined;
    let current = true;
    const relay = await startRawServer((socket) => {
      greet = () => void socket.write('220 relay\r\n');
      socket.on('data', (chunk) => {
        asked.push(chunk.toString('latin1').slice(0, 4));
        socket.write('250 fine\r\n');
      });
    });
    cleanups.push(() => relay.stop());
    const confirms: string[][] = [];
    const { send } = sender(relay.port, {
      confirm: async () => {
        confirms.push([...asked]);
        return current ? 'current' : 'lost';
      },
    });
    const sending = send();
    await waitUntil(() => relay.connections() === 1, { what: 'the connection' });
    current = false;
    greet();
    expect((await sending).outcome).toEqual({ verdict: 'released', reason: 'no_longer_current' });
    expect(confirms).toEqual([['EHLO']]);
    expect(asked).not.toContain('MAIL');
  });

  test('is asked again before a mail goes a second time', async () => {
    let current = true;
    let confirms = 0;
    let mails = 0;
    const relay = await scriptedRelay((verb, _line, socket, connection) => {
      if (verb === 'MAIL') mails += 1;
      if (verb === 'MAIL' && connection === 1) {
        current = false;
        socket.destroy();
      }
      return polite(verb);
    });
    const { outcome } = await sender(relay.port, {
      confirm: async () => {
        confirms += 1;
        return current ? 'current' : 'lost';
      },
    }).send();
    expect(outcome).toEqual({ verdict: 'released', reason: 'no_longer_current' });
    expect({ confirms, mails }).toEqual({ confirms: 2, mails: 1 });
  });

  test('costs no connection when it is not', async () => {
    const asked: string[] = [];
    const relay = await scriptedRelay((verb) => {
      asked.push(verb);
      return polite(verb);
    });
    let current = true;
    const { send } = sender(relay.port, { confirm: async () => (current ? 'current' : 'lost') });
    expect((await send()).outcome.verdict).toBe('delivered');
    current = false;
    expect((await send()).outcome.verdict).toBe('released');
    // The pool says RSET before it gives a mail to the connection again.
    await waitUntil(() => asked.includes('RSET'), { what: 'RSET' });
    current = true;
    expect((await send()).outcome.verdict).toBe('delivered');
    expect(relay.connections()).toBe(1);
    expect(asked.filter((verb) => verb === 'MAIL')).toHaveLength(2);
  });

  test('and cannot be told: a fault of ours, and nothing is sent', async () => {
    const relay = await catcher();
    const away = new Error('the database is away');
    const { send } = sender(relay.port, { confirm: () => Promise.reject(away) });
    await expect(send()).rejects.toBe(away);
    expect(relay.mails()).toHaveLength(0);
  });

  test('and is not told in time: given back, whatever is answered later', async () => {
    const asked: string[] = [];
    const relay = await scriptedRelay((verb) => {
      asked.push(verb);
      return polite(verb);
    });
    let tell = (_current: 'current'): void => undefined;
    const confirm = () =>
      new Promise<'current'>((resolve) => {
        tell = resolve;
      });
    const times = { toTheDotMs: 200, afterTheDotMs: 200 };
    const { outcome } = await sender(relay.port, { confirm, times }).send();
    expect(outcome).toEqual({ verdict: 'released', reason: 'not_confirmed' });
    tell('current');
    await waitUntil(() => relay.open() === 0, { what: 'the end of the socket' });
    expect(asked).not.toContain('MAIL');
  });
});

describe('what the relay answers', () => {
  test.each<[string, MailCatcherOptions, Partial<AttemptOutcome>]>([
    [
      '550 5.1.1 at RCPT',
      { onRcptTo: () => ({ code: 550, text: '5.1.1 No such user' }) },
      {
        verdict: 'dead',
        reason: 'address_unknown',
        suppress: 'ada@readers.example',
      },
    ],
    [
      '450 at RCPT',
      { onRcptTo: () => ({ code: 450, text: '4.7.1 Greylisted' }) },
      {
        verdict: 'retry',
        reason: 'deferred',
      },
    ],
    [
      '552 5.2.2 at RCPT',
      { onRcptTo: () => ({ code: 552, text: '5.2.2 Full' }) },
      {
        verdict: 'retry',
        reason: 'mailbox_full',
      },
    ],
    [
      '451 after the dot',
      { onData: () => ({ code: 451, text: '4.3.0 Busy' }) },
      {
        verdict: 'retry',
        reason: 'deferred',
      },
    ],
    [
      '554 5.7.1 after the dot',
      { onData: () => ({ code: 554, text: '5.7.1 Spam' }) },
      {
        verdict: 'dead',
        reason: 'policy_refused',
      },
    ],
    [
      '550 at RCPT',
      { onRcptTo: () => ({ code: 550, text: 'No' }) },
      {
        verdict: 'dead',
        reason: 'refused',
      },
    ],
    [
      '550 at MAIL FROM',
      { onMailFrom: () => ({ code: 550, text: '5.1.8 Who are you' }) },
      {
        verdict: 'dead',
        reason: 'sender_refused',
      },
    ],
    [
      '554 at the greeting',
      { onConnect: () => ({ code: 554, text: 'Not today' }) },
      {
        verdict: 'relay_paused',
        reason: 'relay_refused',
      },
    ],
    [
      '421 at RCPT',
      { onRcptTo: () => ({ code: 421, text: '4.7.0 Too many' }) },
      {
        verdict: 'relay_paused',
        reason: 'relay_closing',
      },
    ],
    [
      '421 after the dot',
      { onData: () => ({ code: 421, text: '4.3.2 Bye' }) },
      {
        verdict: 'relay_paused',
        reason: 'relay_closing',
      },
    ],
    [
      'a log-in that is missing',
      { auth: { user: 'u', pass: 'p' } },
      {
        verdict: 'relay_paused',
        reason: 'relay_auth',
      },
    ],
  ])('%s', async (_what, options, expected) => {
    const relay = await catcher(options);
    const { outcome } = await sender(relay.port).send();
    expect(outcome).toMatchObject(expected);
    expect(relay.mails()).toHaveLength(0);
  });

  test('one reader refused or deferred holds up nobody else', async () => {
    const relay = await catcher({
      onRcptTo: (to) =>
        ({
          'r3@readers.example': { code: 550, text: '5.1.1 No such user' },
          'r5@readers.example': { code: 451, text: '4.3.0 Later' },
        })[to],
    });
    const { send } = sender(relay.port);
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        send(mail({ to: { name: '', address: `r${index + 1}@readers.example` } })),
      ),
    );
    const verdicts = outcomes.map(({ outcome }) => outcome.verdict);
    expect(verdicts.filter((verdict) => verdict === 'delivered')).toHaveLength(8);
    expect([verdicts[2], verdicts[4]]).toEqual(['dead', 'retry']);
    expect(relay.mails()).toHaveLength(8);
  });

  test('is kept as storable text of bounded length', async () => {
    const relay = await scriptedRelay((verb) =>
      verb === 'RCPT' ? `550-5.1.1 \0 ${'x'.repeat(5_000)}\r\n550 5.1.1 end` : polite(verb),
    );
    const { outcome } = await sender(relay.port).send();
    const { bodyExcerpt = '' } = ('facts' in outcome && outcome.facts) || {};
    expect(bodyExcerpt).toHaveLength(500);
    expect(bodyExcerpt).not.toContain('\0');
  });
});

describe('a connection that fails', () => {
  test('before MAIL FROM pauses the relay and charges nobody', async () => {
    const closed = await startRawServer(() => undefined);
    await closed.stop();
    expect((await sender(closed.port).send()).outcome).toMatchObject({
      verdict: 'relay_paused',
      reason: 'relay_unreachable',
      pauseMs: 5_000,
    });
    const cutting = await startRawServer((socket) => socket.destroy());
    cleanups.push(() => cutting.stop());
    expect((await sender(cutting.port).send()).outcome.verdict).toBe('relay_paused');
    expect(cutting.connections()).toBe(1);
  });

  test('by silence before MAIL FROM pauses the relay within our own time', async () => {
    const silent = await startRawServer(() => undefined);
    cleanups.push(() => silent.stop());
    const times = { toTheDotMs: 200, afterTheDotMs: 200 };
    expect((await sender(silent.port, { times }).send()).outcome).toMatchObject({
      verdict: 'relay_paused',
      reason: 'relay_silent',
    });
    await waitUntil(() => silent.open() === 0, { what: 'the end of the socket' });
  });

  test('within the envelope retries, charged', async () => {
    const relay = await scriptedRelay((verb, _line, socket) => {
      if (verb === 'RCPT') socket.destroy();
      return polite(verb);
    });
    expect((await sender(relay.port).send()).outcome).toMatchObject({
      verdict: 'retry',
      reason: 'connection_lost',
    });
  });

  test('after the final dot is uncertain: the relay may have taken the mail', async () => {
    const cut = await scriptedRelay((verb, _line, socket) => {
      if (verb === '.') socket.destroy();
      return verb === '.' ? undefined : polite(verb);
    });
    expect((await sender(cut.port).send()).outcome).toMatchObject({
      verdict: 'retry',
      reason: 'uncertain',
    });
    const silent = await scriptedRelay((verb) => (verb === '.' ? undefined : polite(verb)));
    const times = { toTheDotMs: 300, afterTheDotMs: 300 };
    const startedAt = performance.now();
    expect((await sender(silent.port, { times }).send()).outcome).toMatchObject({
      reason: 'uncertain',
    });
    // It was given its time after the dot.
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(550);
    await waitUntil(() => silent.open() === 0, { what: 'the end of the socket' });
  });

  test('that was idle and closed by the relay costs no attempt', async () => {
    let mails = 0;
    const relay = await scriptedRelay((verb, _line, socket, connection) => {
      if (verb === '.') mails += 1;
      // The relay ends the first session just as the next mail comes.
      if (verb === 'MAIL' && connection === 1 && mails === 1) {
        socket.resetAndDestroy();
        return undefined;
      }
      return polite(verb);
    });
    const { send } = sender(relay.port);
    expect((await send()).outcome.verdict).toBe('delivered');
    expect((await send()).outcome.verdict).toBe('delivered');
    expect(relay.connections()).toBe(2);
    expect(mails).toBe(2);
  });

  test('is never tried again by the pool itself', async () => {
    const relay = await scriptedRelay((verb, _line, socket) => {
      if (verb === 'EHLO') socket.destroy();
      return undefined;
    });
    const { send } = sender(relay.port);
    expect((await send()).outcome.verdict).toBe('relay_paused');
    expect(relay.connections()).toBe(1);
  });
});

describe('work that we break off', () => {
  test('is released before the dot, uncertain after it', async () => {
    const asked: string[] = [];
    const relay = await scriptedRelay((verb) => {
      asked.push(verb);
      return verb === 'RCPT' ? undefined : polite(verb);
    });
    const stop = new AbortController();
    const sending = sender(relay.port).send(mail(), stop.signal);
    await waitUntil(() => asked.includes('RCPT'), { what: 'RCPT TO' });
    stop.abort('shutdown');
    expect((await sending).outcome).toEqual({ verdict: 'released', reason: 'shutdown' });
    await waitUntil(() => relay.open() === 0, { what: 'the end of the socket' });

    let dotted = false;
    const late = await scriptedRelay((verb) => {
      if (verb !== '.') return polite(verb);
      dotted = true;
      return undefined;
    });
    const lateStop = new AbortController();
    const lateSending = sender(late.port).send(mail(), lateStop.signal);
    await waitUntil(() => dotted, { what: 'the final dot' });
    lateStop.abort('shutdown');
    expect((await lateSending).outcome).toMatchObject({ verdict: 'retry', reason: 'uncertain' });
  });
});

describe('the relay', () => {
  test('rests longer after each fault, once a batch, and is probed by one mail', async () => {
    let now = 1_000;
    const told: string[] = [];
    const relay = new Relay({
      connections: 10,
      pause: async (reason, pauseMs) => void told.push(`${reason} ${pauseMs}`),
      monotonic: () => now,
    });
    expect(relay.capacity).toBe(10);
    await Promise.all([
      relay.rest('relay_auth'),
      relay.rest('relay_auth'),
      relay.rest('relay_auth'),
    ]);
    expect(told).toEqual(['relay_auth 5000']);
    expect(relay.capacity).toBe(0);
    now += 5_000;
    expect(relay.capacity).toBe(1);
    await relay.rest('relay_auth');
    now += 10_000;
    await relay.rest('relay_auth');
    expect(relay.capacity).toBe(0);
    expect(told.slice(1)).toEqual(['relay_auth 10000', 'relay_auth 20000']);
    relay.works();
    expect(relay.capacity).toBe(10);
  });

  test('rests all the same when that could not be stored, and the next fault stores it', async () => {
    let now = 1_000;
    const told: number[] = [];
    const relay = new Relay({
      connections: 10,
      pause: async (_reason, pauseMs) => {
        told.push(pauseMs);
        if (told.length === 1) throw new Error('the database is away');
      },
      monotonic: () => now,
    });
    await expect(relay.rest('relay_auth')).rejects.toThrow('away');
    expect(relay.capacity).toBe(0);
    now += 1_000;
    await Promise.all([relay.rest('relay_auth'), relay.rest('relay_auth')]);
    expect(told).toEqual([5_000, 4_000]);
  });

  test('that has rested wakes whoever waits to send', async () => {
    let now = 1_000;
    let wakes = 0;
    vi.useFakeTimers();
    try {
      const relay = new Relay({
        connections: 10,
        pause: async () => undefined,
        monotonic: () => now,
        onRested: () => {
          wakes += relay.capacity;
        },
      });
      await relay.rest('relay_auth');
      now += 5_010;
      await vi.advanceTimersByTimeAsync(5_010);
      expect(wakes).toBe(1);
      await relay.rest('relay_auth');
      relay.works();
      await vi.advanceTimersByTimeAsync(60_000);
      expect(wakes).toBe(1);
    } finally {
      vi.useRealTimers();
    }
  });

  test('is given mails no faster than its rate', async () => {
    const turn = createRelayRate({ messages: 20, perMs: 1_000 }, () => performance.now());
    const startedAt = performance.now();
    const never = new AbortController().signal;
    await Promise.all(Array.from({ length: 5 }, () => turn(never)));
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(195);
    await turn(AbortSignal.abort('shutdown'));
  });
});
