import type { Readable } from 'node:stream';

import SMTPConnection from 'nodemailer/lib/smtp-connection';

/** `reused`: the connection carried another message before. */
export type MayGo = (connection: { reused: boolean }) => Promise<boolean>;

/** By the stream of a message: whether it may go. */
const GATES = new WeakMap<object, MayGo>();
const USED = new WeakSet<SMTPConnection>();

/**
 * Has `mayGo` asked when the connection for a message is open, secured and logged in, right before
 * MAIL FROM. False, or a rejection, fails the message and keeps the connection.
 */
export function beforeMailFrom(message: Readable, mayGo: MayGo): void {
  GATES.set(message, mayGo);
}

// nodemailer has no hook there: its pool connects and sends in one go. This is the documented method
// that both end in; messages that nobody asked about pass as ever.
const send = Reflect.get<SMTPConnection, 'send'>(SMTPConnection.prototype, 'send');
SMTPConnection.prototype.send = function sendIfItMay(envelope, message, done) {
  const mayGo = typeof message === 'object' ? GATES.get(message) : undefined;
  if (!mayGo) {
    send.call(this, envelope, message, done);
    return;
  }
  // nodemailer itself hands over a fault alone.
  const fail = done as (error: Error) => void;
  const reused = USED.has(this);
  USED.add(this);
  mayGo({ reused }).then(
    (may) => {
      if (may) send.call(this, envelope, message, done);
      else fail(refusal('It may not go any more'));
    },
    (cause: unknown) => fail(refusal('Whether it may go could not be told', cause)),
  );
};

/** EMESSAGE is a fault of the message: the pool says RSET and keeps the connection. */
function refusal(text: string, cause?: unknown): Error {
  return Object.assign(new Error(text, { cause }), { code: 'EMESSAGE', command: 'API' });
}
