import { describe, expect, test } from 'vitest';

import { emailSender, mail, polite, scriptedRelay } from '../../../../test/support/email-sender.js';
import { rawServer } from '../../../../test/support/servers-of-a-test.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

describe('a connection that fails', () => {
  test('before MAIL FROM pauses the relay and charges nobody', async () => {
    const closed = await rawServer(() => undefined);
    await closed.stop();
    expect((await emailSender(closed.port).send()).outcome).toMatchObject({
      verdict: 'relay_paused',
      reason: 'relay_unreachable',
      pauseMs: 5_000,
      putBack: false,
    });
    const cutting = await rawServer((socket) => socket.destroy());
    expect((await emailSender(cutting.port).send()).outcome.verdict).toBe('relay_paused');
    expect(cutting.connections()).toBe(1);
  });

  test('by silence before MAIL FROM pauses the relay within our own time', async () => {
    const silent = await rawServer(() => undefined);
    const times = { toTheDotMs: 200, afterTheDotMs: 200 };
    expect((await emailSender(silent.port, { times }).send()).outcome).toMatchObject({
      verdict: 'relay_paused',
      reason: 'relay_silent',
    });
    await waitUntil(() => silent.open() === 0, { what: 'the end of the socket' });
  });

  test('within the envelope pauses the relay, and puts the mail behind the others', async () => {
    const relay = await scriptedRelay((verb, _line, socket) => {
      if (verb === 'RCPT') socket.destroy();
      return polite(verb);
    });
    expect((await emailSender(relay.port).send()).outcome).toMatchObject({
      ...{ verdict: 'relay_paused', reason: 'relay_unreachable', putBack: true },
    });
    // The same mail again at once is for a connection that had been idle.
    expect(relay.connections()).toBe(1);
  });

  test('after the final dot is uncertain: the relay may have taken the mail', async () => {
    const cut = await scriptedRelay((verb, _line, socket) => {
      if (verb === '.') socket.destroy();
      return verb === '.' ? undefined : polite(verb);
    });
    expect((await emailSender(cut.port).send()).outcome).toMatchObject({
      verdict: 'retry',
      reason: 'uncertain',
    });
    const silent = await scriptedRelay((verb) => (verb === '.' ? undefined : polite(verb)));
    const times = { toTheDotMs: 300, afterTheDotMs: 300 };
    const startedAt = performance.now();
    expect((await emailSender(silent.port, { times }).send()).outcome).toMatchObject({
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
    const { send } = emailSender(relay.port);
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
    const { send } = emailSender(relay.port);
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
    const sending = emailSender(relay.port).send(mail(), stop.signal);
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
    const lateSending = emailSender(late.port).send(mail(), lateStop.signal);
    await waitUntil(() => dotted, { what: 'the final dot' });
    lateStop.abort('shutdown');
    expect((await lateSending).outcome).toMatchObject({ verdict: 'retry', reason: 'uncertain' });
  });
});
