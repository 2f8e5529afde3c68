import { randomBytes, randomUUID } from 'node:crypto';

import { sqlOfPool } from '@ghost/queue';
import { bounceAddress, type KeyRing, parseKeyRing } from '@ghost/vault';
import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { addDeliveredMail } from '../../../../test/support/delivered-mail.js';
import { createTestDatabase, openPool } from '../../../../test/support/test-database.js';
import { applyMailReport } from './apply-mail-report.js';
import { readMailReport } from './read-mail-report.js';

const DOMAIN = 'bounces.ghost.example';
const ring = ringOf('a');

function ringOf(id: string): KeyRing {
  const parsed = parseKeyRing(`${id}:${randomBytes(32).toString('base64')}`);
  if (!parsed.ok) throw new Error('No key ring');
  return parsed.ring;
}

interface Wish {
  to?: string;
  action?: string;
  status?: string;
  diagnostic?: string;
  /** Return path of the mail that comes back with it. */
  original?: string;
  body?: string;
}

/** A delivery status notification as an MTA writes one (RFC 3464). */
function bounce({
  to = 'x@ghost.example',
  action = 'failed',
  status = '5.1.1',
  diagnostic = '550 5.1.1 <reader@people.example>: no such\r\n    user here',
  original = '',
  body = 'Hi.',
}: Wish) {
  return Buffer.from(
    [
      'Return-Path: <>',
      'From: MAILER-DAEMON@mx.example (Mail Delivery System)',
      `To: ${to}`,
      'Subject: Undelivered Mail Returned to Sender',
      'Auto-Submitted: auto-replied',
      'MIME-Version: 1.0',
      'Content-Type: multipart/report; report-type=delivery-status;',
      ' boundary="B1"',
      '',
      '--B1',
      'Content-Type: text/plain; charset=us-ascii',
      '',
      'I am sorry, your message could not be delivered.',
      '',
      '--B1',
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; mx.example',
      'Arrival-Date: Mon, 30 Nov 2026 06:00:00 +0000',
      '',
      'Final-Recipient: rfc822; reader@people.example',
      `Action: ${action}`,
      `Status: ${status}`,
      `Diagnostic-Code: smtp; ${diagnostic}`,
      '',
      '--B1',
      'Content-Type: message/rfc822',
      '',
      ...(original === '' ? [] : [`Return-Path: <${original}>`]),
      'From: "Ada (Ghost)" <noreply@ghost.example>',
      'To: reader@people.example',
      'Subject: Re: [ada/demo] A thread (#1)',
      'Message-ID: <x@ghost.example>',
      '',
      body,
      '',
      '--B1--',
      '',
    ].join('\r\n'),
  );
}

/** A feedback report as a mailbox provider sends one (RFC 5965). */
function complaint({
  original = '',
  type = 'abuse',
  path = '',
}: {
  original?: string;
  type?: string;
  path?: string;
}) {
  return Buffer.from(
    [
      'From: <feedback@provider.example>',
      'To: <abuse@ghost.example>',
      'Subject: FW: A thread',
      'MIME-Version: 1.0',
      'Content-Type: multipart/report; report-type=feedback-report; boundary="B2"',
      '',
      '--B2',
      'Content-Type: text/plain; charset="US-ASCII"',
      '',
      'This is an email abuse report.',
      '--B2',
      'Content-Type: message/feedback-report',
      '',
      ...(type === '' ? [] : [`Feedback-Type: ${type}`]),
      'User-Agent: Provider/1.0',
      'Version: 1',
      ...(original === '' ? [] : [`Original-Mail-From: <${original}>`]),
      '',
      '--B2',
      'Content-Type: message/rfc822',
      'Content-Disposition: inline',
      '',
      ...(path === '' ? [] : [`Return-Path: <${path}>`]),
      'From: "Ada (Ghost)" <noreply@ghost.example>',
      'Subject: Re: A thread',
      '',
      'Hi.',
      '--B2--',
      '',
    ].join('\r\n'),
  );
}

const pathOf = (jobId: string, by = ring) => bounceAddress(by, jobId, DOMAIN);

describe('a bounce', () => {
  const id = randomUUID();

  test.each([
    ['at the return path', bounce({ to: pathOf(id) }), undefined],
    ['at it in capitals', bounce({ to: pathOf(id).toUpperCase() }), undefined],
    ['with the mail and its return path', bounce({ original: pathOf(id) }), undefined],
    ['told by who hands it over', bounce({}), pathOf(id)],
  ])('names its mail: %s', async (_how, raw, recipient) => {
    expect(await readMailReport(raw, ring, { recipient })).toEqual({
      kind: 'bounce',
      jobId: id,
      status: '5.1.1',
      diagnostic: 'smtp; 550 5.1.1 <reader@people.example>: no such user here',
    });
  });

  test.each([
    ['5.0.0', '550-5.7.1 not from you\r\n 550 5.7.1 at all', '5.7.1'],
    ['5.0.0 (undefined status)', '550 5.1.1 No such user', '5.1.1'],
    ['', '552 5.2.2 Full', '5.2.2'],
    ['5.0.0', '550 host 5.1.1.1 said no', '5.0.0'],
    ['5.0.0', '550 4.1.1 Odd', '5.0.0'],
    ['5.0.0', '550 5.1.1.1 Odd', '5.0.0'],
    ['5.4.4', '550 5.1.1 No such user', '5.4.4'],
    ['5.0.0', '', '5.0.0'],
  ])('of status %j after %j is one of %s', async (status, diagnostic, expected) => {
    const raw = bounce({ to: pathOf(id), action: 'Failed (for good)', status, diagnostic });
    expect(await readMailReport(raw, ring)).toMatchObject({ kind: 'bounce', status: expected });
  });

  test('without a return path of ours counts for nothing', async () => {
    const forged = pathOf(id, ringOf('other'));
    for (const raw of [bounce({}), bounce({ to: forged }), bounce({ original: forged })]) {
      expect(await readMailReport(raw, ring)).toEqual({
        kind: 'none',
        reason: 'no_valid_return_path',
      });
    }
  });

  test('does not take one that a reader wrote into the mail', async () => {
    const raw = bounce({ body: `Return-Path: <${pathOf(id)}>` });
    expect(await readMailReport(raw, ring)).toMatchObject({ reason: 'no_valid_return_path' });
  });

  test.each(['delayed', 'delivered', 'relayed', 'expanded'])(
    'that says "%s" is no failure',
    async (action) => {
      const raw = bounce({ to: pathOf(id), action, status: '4.4.1' });
      expect(await readMailReport(raw, ring)).toEqual({ kind: 'none', reason: 'no_failure' });
    },
  );
});

describe('a complaint', () => {
  const id = randomUUID();

  test.each(['abuse', 'fraud', ''])('of type "%s" names its mail', async (type) => {
    const raw = complaint({ original: pathOf(id), type });
    const feedbackType = type === '' ? 'abuse' : type;
    expect(await readMailReport(raw, ring)).toEqual({ kind: 'complaint', jobId: id, feedbackType });
  });

  test('names its mail by what comes back of it alone, too', async () => {
    const report = await readMailReport(complaint({ path: pathOf(id) }), ring);
    expect(report).toMatchObject({ kind: 'complaint', jobId: id });
  });

  test('that is none, or names no mail of ours, counts for nothing', async () => {
    for (const type of ['not-spam', 'auth-failure']) {
      const report = complaint({ original: pathOf(id), type });
      expect(await readMailReport(report, ring)).toEqual({ kind: 'none', reason: 'no_complaint' });
    }
    expect(await readMailReport(complaint({}), ring)).toMatchObject({ kind: 'none' });
  });
});

test.each([
  ['an answer of a person', `To: ${pathOf(randomUUID())}\r\nSubject: Re: Hi\r\n\r\nThanks!`],
  [
    'an out-of-office note',
    `To: ${pathOf(randomUUID())}\r\nAuto-Submitted: auto-replied\r\n\r\nAway.`,
  ],
  ['nothing', ''],
  ['noise', randomBytes(4096)],
  ['a header without end', `X: ${'a'.repeat(50_000)}`],
])('%s is no report', async (_what, raw) => {
  expect(await readMailReport(Buffer.from(raw), ring)).toEqual({
    kind: 'none',
    reason: 'no_report',
  });
});

test('parts without end are unreadable', async () => {
  const part = '--b\r\nContent-Type: text/plain\r\n\r\nx\r\n';
  const raw = `Content-Type: multipart/report; boundary=b\r\n\r\n${part.repeat(2_000)}`;
  expect(await readMailReport(Buffer.from(raw), ring)).toMatchObject({ reason: 'unreadable' });
});

describe('a report that is made to be much work', () => {
  const id = randomUUID();
  const KIB = 1024;

  test.each([
    ['addresses', 'a@b,'],
    ['groups', 'a:;,'],
    ['words', '=?utf-8?q?x?= '],
  ])('is not read: a header of %s', async (_what, field) => {
    const headed = (bytes: number) =>
      Buffer.concat([
        Buffer.from(`Cc: ${field.repeat(bytes / field.length)}\r\n`),
        bounce({ to: pathOf(id) }),
      ]);
    expect(await readMailReport(headed(4 * KIB), ring)).toMatchObject({ kind: 'bounce' });
    expect(await readMailReport(headed(128 * KIB), ring)).toMatchObject({ reason: 'unreadable' });
  });

  test('is read as far as a report goes', async () => {
    const long = 'x'.repeat(70).concat('\r\n').repeat(10_000);
    const atEnd = bounce({ to: pathOf(id), body: long });
    expect(await readMailReport(atEnd, ring)).toMatchObject({ kind: 'bounce', jobId: id });
    const before = atEnd.toString().replace('I am sorry', long);
    expect(await readMailReport(Buffer.from(before), ring)).toMatchObject({ reason: 'no_report' });
  });
});

describe('what a report does', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let pool: Pool;

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = openPool(database.url);
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  const mailTo = (address: string) => addDeliveredMail(pool, address);
  const suppressionOf = async (address: string) =>
    (
      await pool.query(
        'SELECT reason, since IS NOT NULL AS now, until IS NULL AS forever, strikes FROM mail_suppression WHERE address = $1',
        [address],
      )
    ).rows[0];

  async function report(status: string, address: string) {
    const jobId = await mailTo(address);
    return applyMailReport(sqlOfPool(pool), { kind: 'bounce', jobId, status, diagnostic: null });
  }

  test.each([
    ['5.1.1', 'hard', 'address_unknown'],
    ['5.1.10', 'hard', 'address_unknown'],
    ['5.2.1', 'hard', 'address_unknown'],
    ['5.2.2', 'soft', 'mailbox_full'],
    ['4.2.2', 'soft', 'mailbox_full'],
    ['5.1.2', 'strike', 'domain_unknown'],
    ['4.4.7', 'strike', 'expired'],
    ['5.0.0', 'strike', 'refused'],
    ['4.1.1', 'strike', 'expired'],
  ])('%s: %s suppression', async (status, suppression, reason) => {
    const address = `R-${status}@People.example`;
    expect(await report(status, address)).toMatchObject({
      effect: 'suppressed',
      suppression,
      reason,
    });
    const hard = suppression === 'hard';
    expect(await suppressionOf(address.toLowerCase())).toEqual({
      reason,
      now: suppression !== 'strike',
      forever: hard || suppression === 'strike',
      strikes: suppression === 'strike' ? 1 : 0,
    });
  });

  test.each([
    ['5.1.1', 'smtp; 550 5.1.1 Listed in a DNSBL', 'policy_refused'],
    ['5.0.0', 'smtp; 550 Blocked, see https://www.spamhaus.org/', 'policy_refused'],
    ['5.2.3', null, 'message_too_large'],
    ['5.3.4', null, 'message_too_large'],
    ['5.6.7', null, 'address_invalid'],
    ['5.1.7', null, 'sender_refused'],
    ['5.1.8', 'smtp; 550 5.1.8 Sender address rejected: Domain not found', 'sender_refused'],
  ])('%s (%s) tells nothing against the address', async (status, diagnostic, reason) => {
    const jobId = await mailTo('fine-too@people.example');
    const bounced = { kind: 'bounce', jobId, status, diagnostic } as const;
    expect(await applyMailReport(sqlOfPool(pool), bounced)).toEqual({
      ...{ effect: 'noted', jobId, reason },
    });
    expect(await suppressionOf('fine-too@people.example')).toBeUndefined();
  });

  test('what is refused for what we are suppresses nobody', async () => {
    expect(await report('5.7.1', 'fine@people.example')).toMatchObject({
      effect: 'noted',
      reason: 'policy_refused',
    });
    expect(await suppressionOf('fine@people.example')).toBeUndefined();
  });

  test('a complaint ends mail to the address, and a report of a mail that is gone nothing', async () => {
    const jobId = await mailTo('annoyed@people.example');
    const sql = sqlOfPool(pool);
    const complained = { kind: 'complaint', jobId, feedbackType: 'abuse' } as const;
    expect(await applyMailReport(sql, complained)).toMatchObject({ reason: 'complaint' });
    expect(await suppressionOf('annoyed@people.example')).toMatchObject({
      now: true,
      forever: true,
    });
    expect(await applyMailReport(sql, { ...complained, jobId: randomUUID() })).toEqual({
      effect: 'ignored',
      reason: 'unknown_mail',
    });
  });
});
