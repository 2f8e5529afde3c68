import type { ExplainedDelivery, ExplainedEvent } from '@ghost/operations';
import { describe, expect, test } from 'vitest';

import type { CaughtMail } from '../catchers/mail-catcher.js';
import type { CaughtWebhook } from '../catchers/inspect-webhook.js';
import type { Choices } from './choices.js';
import { type Posted, type StoredContent, verifyEvent } from './verify.js';

const AT = new Date('2026-01-01T00:00:00Z');
const TEXT = 'Hello\r\n日本語 🎉';
const BODY = JSON.stringify({ comment: { body: TEXT } });

const POSTED: Posted = {
  name: 'comment 1',
  source: 'a test',
  eventId: 'event',
  eventType: 'comment.created',
  body: TEXT,
  readers: ['brian'],
  hookIds: [7],
  skippedAccounts: ['ada'],
  skippedHookIds: [8],
  unseenHookIds: [],
};

function delivery(change: Partial<ExplainedDelivery>): ExplainedDelivery {
  return {
    jobId: 'job',
    eventId: 'event',
    kind: 'webhook',
    target: 'hook 7 (http://127.0.0.1:4000)',
    targetGone: false,
    hookId: 7,
    accountId: null,
    login: null,
    lane: 'hook:7',
    status: 'delivered',
    waiting: null,
    heldReason: null,
    attempts: 1,
    tries: 1,
    lastError: null,
    redelivery: false,
    runAt: AT,
    createdAt: AT,
    finishedAt: AT,
    history: [],
    ...change,
  };
}

const WEBHOOK = delivery({ jobId: 'hook-job', tries: 2 });
const MAIL = delivery({
  jobId: 'mail-job',
  kind: 'email',
  target: 'brian <brian@example.test>',
  hookId: null,
  accountId: 2,
  login: 'brian',
});
const EVENT: ExplainedEvent = {
  id: 'event',
  type: 'comment.created',
  repository: 'ada/demo',
  repositoryDeleted: false,
  createdAt: AT,
  processedAt: AT,
  consumers: [
    {
      consumer: 'notifier',
      state: 'done',
      attempts: 1,
      lastError: null,
      cursor: null,
      nextAt: null,
      endedAt: AT,
    },
  ],
  counts: { pending: 0, delivered: 2, dead: 0, cancelled: 0 },
  deliveries: [WEBHOOK, MAIL],
  skips: [
    { target: 'ada', targetKind: 'account', targetId: 1, reason: 'actor', detail: null },
    { target: 'hook 8', targetKind: 'hook', targetId: 8, reason: 'not_subscribed', detail: null },
  ],
};
const CONTENTS = new Map<string, StoredContent>([
  ['hook-job', { body: BODY, parts: null, own: {} }],
  [
    'mail-job',
    {
      body: null,
      own: { to: { name: 'Brian', address: 'brian@example.test' }, slots: { w: 'you watch' } },
      parts: {
        envelopeFrom: 'ghost@example.test',
        from: { name: 'Ada', address: 'ghost@example.test' },
        subject: ['Re: a thread'],
        text: [TEXT, '\n\n-- \nBecause ', { slot: 'w' }],
        date: '2026-01-01T00:00:00Z',
        messageIdDomain: 'example.test',
        headers: [],
      },
    },
  ],
]);

const caughtWebhook = (change: Partial<CaughtWebhook> = {}): CaughtWebhook => ({
  deliveryId: 'hook-job',
  event: 'comment.created',
  hookId: '7',
  attempt: '1',
  redelivery: false,
  body: BODY,
  secretAt: 'here',
  signatures: { standard: 'ok', ghost: 'ok' },
  problems: [],
  answered: 200,
  told: 'scripted',
  at: AT,
  ...change,
});
const caughtMail = (change: Partial<CaughtMail> = {}): CaughtMail => ({
  messageId: '<mail-job@example.test>',
  jobId: 'mail-job',
  subject: 'Re: a thread',
  to: ['brian@example.test'],
  from: ['ghost@example.test'],
  text: `${TEXT}\n\n-- \nBecause you watch\n`,
  hasHtml: false,
  inReplyTo: '<thread.1@example.test>',
  references: ['<thread.1@example.test>'],
  header: () => '',
  envelopeFrom: 'ghost@example.test',
  envelopeTo: 'brian@example.test',
  raw: Buffer.from('raw'),
  problems: [],
  file: '1.eml',
  at: AT,
  ...change,
});

const NO_CHOICES: Choices = new Map();
const BRIAN_MUTED: Choices = new Map([['brian', ['muted']]]);
const BRIAN_IGNORES: Choices = new Map([['brian', ['ignored']]]);
const BRIAN_CHOSE_BOTH: Choices = new Map([['brian', ['ignored', 'muted']]]);
const skipOf = (login: string, reason: string) => ({
  target: login,
  targetKind: 'account' as const,
  targetId: 2,
  reason,
  detail: null,
});
/** What the database says after Brian used the link of a mail. */
const BRIAN_LEFT_OUT = {
  deliveries: [WEBHOOK],
  skips: [...EVENT.skips, skipOf('brian', 'muted')],
};

const CAME = {
  webhooks: [caughtWebhook({ answered: 500 }), caughtWebhook()],
  mails: [caughtMail()],
};

function faults(
  change: {
    event?: Partial<ExplainedEvent>;
    posted?: Partial<Posted>;
    caughtMails?: boolean;
    choices?: Choices;
  } & Partial<typeof CAME> = {},
): string[] {
  return judge(change).faults;
}

function judge(change: Parameters<typeof faults>[0] = {}) {
  const { webhooks, mails } = { ...CAME, ...change };
  return verifyEvent(
    { ...POSTED, ...change.posted },
    {
      explained: { ...EVENT, ...change.event },
      contents: CONTENTS,
      choices: change.choices ?? NO_CHOICES,
      witness: {
        mailsOf: (id) => mails.filter((mail) => mail.jobId === id),
        webhooksOf: (id) => webhooks.filter((webhook) => webhook.deliveryId === id),
      },
      catchesMails: change.caughtMails ?? true,
    },
  );
}

describe('verifyEvent', () => {
  test('finds nothing where everything came as it should, and tells who got what', () => {
    expect(judge()).toMatchObject({
      faults: [],
      rows: [
        { target: WEBHOOK.target, attempts: '2', verified: 'both signatures', ok: true },
        { target: MAIL.target, attempts: '1', verified: 'headers and text', ok: true },
        { target: 'ada', status: 'skipped (actor)' },
        { target: 'hook 8', status: 'skipped (not_subscribed)' },
      ],
    });
  });

  test.each<[string, Parameters<typeof faults>[0], RegExp]>([
    ['a reader without a mail', { posted: { readers: ['brian', 'chika'] } }, /no mail for chika/u],
    ['a mail too many', { posted: { readers: [] } }, /mail too many, for brian/u],
    ['a hook without a webhook', { posted: { hookIds: [7, 9] } }, /no webhook for 9/u],
    [
      'no record of who was left out',
      { event: { skips: [] } },
      /left out for ada[\s\S]*left out for 8/u,
    ],
    [
      'a person left out as muted who did not mute the thread',
      { event: BRIAN_LEFT_OUT },
      /no mail for brian[\s\S]*left out too many, for brian/u,
    ],
    [
      'a person left out for another reason than the one that is true',
      { event: BRIAN_LEFT_OUT, choices: BRIAN_IGNORES },
      /no mail for brian/u,
    ],
    [
      'a person left out for a reason that nobody can choose',
      {
        event: { ...BRIAN_LEFT_OUT, skips: [...EVENT.skips, skipOf('brian', 'no_access')] },
        choices: BRIAN_MUTED,
      },
      /no mail for brian/u,
    ],
    [
      'a person who muted the thread, has no mail and no record of it',
      { event: { deliveries: [WEBHOOK] }, choices: BRIAN_MUTED },
      /no mail for brian/u,
    ],
    [
      'a mail to a person whom the record leaves out',
      {
        event: { skips: BRIAN_LEFT_OUT.skips },
        choices: BRIAN_MUTED,
      },
      /a mail too many, for brian/u,
    ],
    ['a mail twice', { event: { deliveries: [WEBHOOK, MAIL, MAIL] } }, /mail more than once/u],
    [
      'a consumer that gave up',
      {
        event: {
          consumers: EVENT.consumers.map((one) => ({
            ...one,
            state: 'set_aside',
            lastError: 'boom',
          })),
        },
      },
      /notifier is set_aside \(boom\)/u,
    ],
    [
      'a dead job',
      { event: { deliveries: [{ ...WEBHOOK, status: 'dead', lastError: 'http_500' }, MAIL] } },
      /not delivered: dead after 2 tries \(http_500\)/u,
    ],
    [
      'a webhook that never came',
      { webhooks: [] },
      /accepted none; 2 tries|accepted none[\s\S]*0 came/u,
    ],
    ['a try that never came', { webhooks: [caughtWebhook()] }, /2 tries are recorded, 1 came/u],
    [
      'a signature that does not verify',
      { webhooks: [...CAME.webhooks, caughtWebhook({ problems: ['ghost signature: no_match'] })] },
      /ghost signature: no_match/u,
    ],
    [
      'other bytes than the stored ones',
      { webhooks: [...CAME.webhooks, caughtWebhook({ body: `${BODY} ` })] },
      /body is not the stored one/u,
    ],
    ['another text than was posted', { posted: { body: 'Bye' } }, /webhook|not what was posted/u],
    ['a mail that never came', { mails: [] }, /no mail came/u],
    [
      'a mail with faulty headers',
      { mails: [caughtMail({ problems: ['Date is missing'] })] },
      /Date/u,
    ],
    ['a mail outside of its thread', { mails: [caughtMail({ inReplyTo: '' })] }, /In-Reply-To/u],
    [
      'a mail with another text',
      { mails: [caughtMail({ text: 'Spam' })] },
      /text is not the stored/u,
    ],
    [
      'a mail to another address',
      { mails: [caughtMail({ envelopeTo: 'x@y.test' })] },
      /another address/u,
    ],
    ['a mail with another subject', { mails: [caughtMail({ subject: 'Spam' })] }, /subject/u],
    ['a mail with another id', { mails: [caughtMail({ messageId: '<x@y>' })] }, /Message-ID/u],
    [
      'a repeated mail with other bytes',
      { mails: [caughtMail(), caughtMail({ raw: Buffer.from('new') })] },
      /bytes differ/u,
    ],
  ])('finds %s', (_, change, message) => {
    const found = faults(change);
    expect(found.join('\n')).toMatch(message);
    expect(found.every((fault) => fault.startsWith('comment 1: '))).toBe(true);
  });

  test.each(['muted', 'ignored'] as const)(
    'asks for no mail to a person who chose so (%s) and is recorded as left out',
    (reason) => {
      const verdict = judge({
        event: { ...BRIAN_LEFT_OUT, skips: [...EVENT.skips, skipOf('brian', reason)] },
        choices: BRIAN_CHOSE_BOTH,
      });
      expect(verdict.faults).toEqual([]);
      expect(verdict.rows).toContainEqual(
        expect.objectContaining({ target: 'brian', status: `skipped (${reason})`, ok: true }),
      );
    },
  );

  test('asks for no caught webhook of a hook that is somewhere else', () => {
    const verdict = judge({ webhooks: [], posted: { unseenHookIds: [7] } });
    expect(verdict.faults).toEqual([]);
    expect(verdict.rows[0]?.verified).toBe('not caught');
  });

  test('says so of a webhook whose secret nobody here knows', () => {
    const webhooks = CAME.webhooks.map((webhook) => ({ ...webhook, secretAt: null }));
    expect(judge({ webhooks })).toMatchObject({
      faults: [],
      rows: [{ target: WEBHOOK.target, verified: 'text (unknown secret)' }, {}, {}, {}],
    });
  });

  test('asks for no caught mail where mails go to another relay', () => {
    const verdict = judge({ mails: [], caughtMails: false });
    expect(verdict.faults).toEqual([]);
    expect(verdict.rows[1]?.verified).toBe('not caught');
  });
});
