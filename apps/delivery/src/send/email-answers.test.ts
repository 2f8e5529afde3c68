import type { AttemptOutcome } from '@ghost/contract';
import { describe, expect, test } from 'vitest';

import { emailSender, mail, polite, scriptedRelay } from '../../../../test/support/email-sender.js';
import type { MailCatcherOptions } from '../../../../test/support/mail-catcher.js';
import { mailCatcher } from '../../../../test/support/servers-of-a-test.js';

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
        verdict: 'relay_paused',
        reason: 'sender_refused',
        putBack: true,
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
    const relay = await mailCatcher(options);
    const { outcome } = await emailSender(relay.port).send();
    expect(outcome).toMatchObject(expected);
    expect(relay.mails()).toHaveLength(0);
  });

  test('one reader refused or deferred holds up nobody else', async () => {
    const relay = await mailCatcher({
      onRcptTo: (to) =>
        ({
          'r3@readers.example': { code: 550, text: '5.1.1 No such user' },
          'r5@readers.example': { code: 451, text: '4.3.0 Later' },
        })[to],
    });
    const { send } = emailSender(relay.port);
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
    const { outcome } = await emailSender(relay.port).send();
    const { bodyExcerpt = '' } = ('facts' in outcome && outcome.facts) || {};
    expect(bodyExcerpt).toHaveLength(500);
    expect(bodyExcerpt).not.toContain('\0');
  });
});
