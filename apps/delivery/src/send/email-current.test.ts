import { describe, expect, test } from 'vitest';

import { emailSender, polite, scriptedRelay } from '../../../../test/support/email-sender.js';
import { mailCatcher, rawServer } from '../../../../test/support/servers-of-a-test.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

describe('whether a job is current', () => {
  test('is asked after the greeting, just before MAIL FROM', async () => {
    const asked: string[] = [];
    let greet = (): void => undefined;
    let current = true;
    const relay = await rawServer((socket) => {
      greet = () => void socket.write('220 relay\r\n');
      socket.on('data', (chunk) => {
        asked.push(chunk.toString('latin1').slice(0, 4));
        socket.write('250 fine\r\n');
      });
    });
    const confirms: string[][] = [];
    const { send } = emailSender(relay.port, {
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
      // The first mail goes through; the session ends just as the second comes.
      if (verb === 'MAIL' && connection === 1 && mails === 2) {
        current = false;
        socket.destroy();
      }
      return polite(verb);
    });
    const { send } = emailSender(relay.port, {
      confirm: async () => {
        confirms += 1;
        return current ? 'current' : 'lost';
      },
    });
    expect((await send()).outcome.verdict).toBe('delivered');
    const { outcome } = await send();
    expect(outcome).toEqual({ verdict: 'released', reason: 'no_longer_current' });
    expect({ confirms, mails }).toEqual({ confirms: 3, mails: 2 });
  });

  test('costs no connection when it is not', async () => {
    const asked: string[] = [];
    const relay = await scriptedRelay((verb) => {
      asked.push(verb);
      return polite(verb);
    });
    let current = true;
    const { send } = emailSender(relay.port, {
      confirm: async () => (current ? 'current' : 'lost'),
    });
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

  test.each(['address_removed', 'repository_deleted'] as const)(
    'or must go nowhere (%s): it is cancelled so, and nothing is sent',
    async (fault) => {
      const relay = await mailCatcher();
      const { outcome } = await emailSender(relay.port, { confirm: async () => fault }).send();
      expect(outcome).toEqual({ verdict: 'cancelled', reason: fault });
      expect(relay.mails()).toHaveLength(0);
    },
  );

  test('and cannot be told: a fault of ours, and nothing is sent', async () => {
    const relay = await mailCatcher();
    const away = new Error('the database is away');
    const { send } = emailSender(relay.port, { confirm: () => Promise.reject(away) });
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
    const { outcome } = await emailSender(relay.port, { confirm, times }).send();
    expect(outcome).toEqual({ verdict: 'released', reason: 'not_confirmed' });
    tell('current');
    await waitUntil(() => relay.open() === 0, { what: 'the end of the socket' });
    expect(asked).not.toContain('MAIL');
  });
});
