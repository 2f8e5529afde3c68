import type { Socket } from 'node:net';

import type { EmailMessage } from '@ghost/contract';
import { createTransport } from 'nodemailer';
import { onTestFinished } from 'vitest';

import { type EmailSenderOptions, sendEmail } from '../../apps/delivery/src/send/email.js';
import { Relay } from '../../apps/delivery/src/send/relay.js';
import { trackProgress } from '../../apps/delivery/src/send/smtp-session.js';
import type { RawServer } from './raw-server.js';
import { rawServer } from './servers-of-a-test.js';

export const ID = '01934f6e-8a1c-7c3a-9b1f-5f3c2d1e0a9b';
export const LONG_LINK = `https://ghost.example.com/unsubscribe/${'t0k3n'.repeat(30)}`;

export function mail(more: Partial<EmailMessage> = {}): EmailMessage {
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

export interface EmailSender {
  /** `mail()` unless told otherwise. */
  readonly send: (message?: EmailMessage, stop?: AbortSignal) => ReturnType<typeof sendEmail>;
}

/** A sender of its own, with a pool of connections to one relay, until the test ends. */
export function emailSender(
  port: number,
  more: Partial<EmailSenderOptions> & { transport?: never } = {},
): EmailSender {
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
  onTestFinished(() => transport.close());
  const relay = new Relay({
    connections: 2,
    pause: async () => ({ failures: 1, pauseMs: 5_000 }),
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
    send: (message = mail(), stop = new AbortController().signal) =>
      sendEmail({ id: ID, message }, options, stop),
  };
}

/** A relay that says what a script tells: the reply to each command by its verb. */
export async function scriptedRelay(
  reply: (verb: string, line: string, socket: Socket, connection: number) => string | undefined,
): Promise<RawServer> {
  return rawServer((socket, connection) => {
    socket.write('220 relay\r\n');
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
}
export const polite = (verb: string): string => (verb === 'DATA' ? '354 go on' : '250 fine');
