import { describe, expect, test } from 'vitest';

import { classifySmtpReply, enhancedStatus, type SmtpStage } from './classify-smtp-reply.js';

function classify(stage: SmtpStage, text?: string) {
  const code = text === undefined ? {} : { code: Number(text.slice(0, 3)), text };
  return classifySmtpReply({ stage, ...code });
}

describe('the relay itself is at fault, and no job is charged', () => {
  test.each<[SmtpStage, string | undefined]>([
    ['setup', undefined],
    ['setup', '554 5.7.1 You are not welcome'],
    ['setup', '450 4.3.2 Try later'],
    ['setup', '535 5.7.8 Authentication failed'],
    ['setup', '454 4.7.0 TLS not available'],
    ['mail_from', '530 5.7.0 Must issue a STARTTLS command first'],
    ['mail_from', '534 5.7.9 Mechanism too weak'],
    ['rcpt_to', '535 5.7.8 Not logged in'],
    ['envelope', undefined],
    ['mail_from', '452 4.3.1 Disk full'],
    ['mail_from', '550 5.1.8 Bad sender'],
    ['mail_from', '550 5.7.1 Sender denied'],
    ['mail_from', '501 5.1.7 Bad sender address'],
    ['rcpt_to', '554 5.7.1 <ada@one.example>: Relay access denied'],
    ['rcpt_to', '550 5.7.54 SMTP; Unable to relay recipient in non-accepted domain'],
    ['rcpt_to', '550 relay not permitted'],
    ['rcpt_to', '550 5.7.1 Relaying denied'],
    ['mail_from', '421 4.7.0 Too many messages'],
    ['rcpt_to', '421 Service not available'],
    ['data', '421 4.3.2 Shutting down'],
    ['message', '421 4.3.2 Shutting down'],
  ])('%s: %s', (stage, text) => {
    expect(classify(stage, text).verdict).toBe('relay_paused');
  });
});

describe('the table of replies', () => {
  test.each<[SmtpStage, string | undefined, object]>([
    ['rcpt_to', '450 4.7.1 Greylisted', { verdict: 'retry', reason: 'deferred' }],
    ['rcpt_to', '451 4.3.0 Busy', { verdict: 'retry', reason: 'deferred' }],
    ['data', '452 4.3.1 Disk full', { verdict: 'retry', reason: 'deferred' }],
    ['message', '450 4.2.0 Later', { verdict: 'retry', reason: 'deferred' }],
    ['data', '503 5.5.1 Bad sequence', { verdict: 'retry', reason: 'bad_sequence' }],
    ['rcpt_to', '550 5.1.2 Bad domain', { verdict: 'retry', reason: 'domain_unknown' }],
    ...['550 5.1.1', '553 5.1.3', '551 5.1.6', '556 5.1.10', '550 5.2.1'].map(
      (reply): [SmtpStage, string, object] => [
        'rcpt_to',
        `${reply} No`,
        { verdict: 'dead', reason: 'address_unknown', suppression: 'hard' },
      ],
    ),
    ['rcpt_to', '552 5.2.2 Mailbox full', { verdict: 'retry', reason: 'mailbox_full' }],
    ['message', '552 5.2.2 Mailbox full', { verdict: 'retry', reason: 'mailbox_full' }],
    ['rcpt_to', '552 Mailbox full', { verdict: 'retry', reason: 'mailbox_full' }],
    ['mail_from', '552 5.3.4 Too large', { verdict: 'dead', reason: 'message_too_large' }],
    ['rcpt_to', '550 5.7.1 Denied', { verdict: 'dead', reason: 'policy_refused', alarm: true }],
    ['message', '554 5.7.9 No', { verdict: 'dead', reason: 'policy_refused', alarm: true }],
    [
      'rcpt_to',
      '550 Blocked, see https://www.spamhaus.org/',
      { verdict: 'dead', reason: 'policy_refused', alarm: true },
    ],
    [
      'message',
      '550 DMARC policy of the domain',
      { verdict: 'dead', reason: 'policy_refused', alarm: true },
    ],
    [
      'rcpt_to',
      '550 5.1.1 Listed in a DNSBL',
      { verdict: 'dead', reason: 'policy_refused', alarm: true },
    ],
    ['mail_from', '552 Too large', { verdict: 'dead', reason: 'message_too_large' }],
    ['mail_from', '550 5.6.7 No such letters', { verdict: 'dead', reason: 'address_invalid' }],
    ['rcpt_to', '553 5.6.7 No such letters', { verdict: 'dead', reason: 'address_invalid' }],
    // What the reader's own server says to a relay that asks it first.
    [
      'rcpt_to',
      '550 5.1.1 undeliverable address: host mx.example said: 550 relay not permitted',
      { verdict: 'dead', reason: 'address_unknown' },
    ],
    ...(['rcpt_to', 'message'] as const).flatMap((stage) =>
      [
        '550 5.1.8 <a@b.example>: Sender address rejected: Domain not found',
        '501 5.1.7 Sender',
      ].map((reply): [SmtpStage, string, object] => [
        stage,
        reply,
        { verdict: 'retry', reason: 'sender_refused', alarm: true },
      ]),
    ),
    ['rcpt_to', '550 No such user', { verdict: 'dead', reason: 'refused', suppression: 'strike' }],
    ['message', '554 5.6.0 Bad mail', { verdict: 'dead', reason: 'refused' }],
    ['data', '554 No valid recipients', { verdict: 'dead', reason: 'refused' }],
    // Not at RCPT: it may speak of anything.
    ['message', '550 5.1.1 Hm', { verdict: 'dead', reason: 'refused', suppression: 'strike' }],
    // The connection is gone, so the relay rests; but it had some of the mail, which may be why.
    ['data', undefined, { verdict: 'retry', reason: 'connection_lost', restsRelay: true }],
    ['rcpt_to', '220 what?', { verdict: 'retry', reason: 'connection_lost', restsRelay: true }],
    // The relay may have taken it.
    ['message', undefined, { verdict: 'retry', reason: 'uncertain', restsRelay: true }],
  ])('%s: %s', (stage, text, expected) => {
    expect(classify(stage, text)).toMatchObject(expected);
  });

  test.each([
    '550 5.7.1 Refused',
    '550 Your host is blacklisted',
    '552 5.2.3 Too large',
    '553 5.1.8 Sender',
  ])('no reader is suppressed for what we are: %s', (text) => {
    for (const stage of ['mail_from', 'rcpt_to', 'message'] as const) {
      expect(classify(stage, text)).not.toHaveProperty('suppression');
    }
  });

  test('the name of a reader is no wording', () => {
    expect(classify('rcpt_to', '550 5.1.1 <relay.denied@x.example> unknown')).toMatchObject({
      reason: 'address_unknown',
    });
    expect(classify('rcpt_to', '550 5.1.1 <spf@rbl.example>: no such user')).toMatchObject({
      reason: 'address_unknown',
    });
    expect(
      classify('rcpt_to', '550 5.1.1 (dkim@dnsbl.example), to=<spf@rbl.example>: unknown'),
    ).toMatchObject({
      reason: 'address_unknown',
    });
  });
});

test('a reply of any length is judged at once', () => {
  for (const text of ['x', '<', '>', '<x', '@', 'x@', '=', ' <', '-']) {
    const reply = `550 5.1.1 ${text.repeat(60_000)}`;
    expect(classify('rcpt_to', reply), text).toMatchObject({ reason: 'address_unknown' });
  }
});

describe('an enhanced status', () => {
  test.each([
    ['550 5.1.1 No', '1.1'],
    ['550-5.7.26 many\n550 5.7.26 lines', '7.26'],
    ['450 4.2.2', '2.2'],
    // Its class must be the reply's, and it must stand first.
    ['550 4.1.1 No', undefined],
    ['550 version 5.1.1', undefined],
    ['550 5.1.1.1 No', undefined],
    ['', undefined],
  ])('of %j', (text, expected) => {
    expect(enhancedStatus(text)).toBe(expected);
  });
});
