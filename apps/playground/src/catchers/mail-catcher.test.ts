import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { createTransport } from 'nodemailer';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { type CaughtMail, type MailCatcher, startMailCatcher } from './mail-catcher.js';
import { checkReply } from './mail-check.js';
import { openMailShelf } from './mail-shelf.js';

const JOB = '01890a5d-ac96-774b-bcce-b302099a8057';
const GOOD = {
  envelope: { from: 'ghost@example.test', to: 'brian@example.test' },
  from: { name: 'Ada, "the" first', address: 'ghost@example.test' },
  to: { name: '近藤 千佳', address: 'brian@example.test' },
  subject: 'Re: [ada/demo] 日本語 🎉 (#1)',
  text: `ノード\n.\nFrom here\n${'a'.repeat(2000)}\n日本語 🎉`,
  messageId: `<${JOB}@example.test>`,
  inReplyTo: '<thread.1@example.test>',
  references: ['<thread.1@example.test>', '<comment.2@example.test>'],
  headers: {
    'List-Unsubscribe': '<http://127.0.0.1/api/unsubscribe/token>',
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    'Auto-Submitted': 'auto-generated',
  },
};

let folder: string;
let catcher: MailCatcher;
let mails: CaughtMail[];

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'ghost-mails-'));
  mails = [];
  catcher = await startMailCatcher({
    shelf: await openMailShelf(folder),
    onMail: (mail) => mails.push(mail),
  });
});
afterEach(async () => {
  await catcher.stop();
  await rm(folder, { recursive: true, force: true });
});

async function send(change: object = {}): Promise<CaughtMail> {
  const transport = createTransport({ url: catcher.url, ignoreTLS: true } as never);
  try {
    await transport.sendMail({ ...GOOD, ...change });
  } finally {
    transport.close();
  }
  const mail = mails.at(-1);
  if (!mail) throw new Error('No mail was caught.');
  return mail;
}

describe('the mail catcher', () => {
  test('reads a mail back as it was written and finds no fault', async () => {
    const mail = await send();
    expect(mail.problems).toEqual([]);
    expect(checkReply(mail)).toEqual([]);
    expect(mail).toMatchObject({
      jobId: JOB,
      envelopeTo: 'brian@example.test',
      subject: GOOD.subject,
      references: GOOD.references,
    });
    expect(mail.text.replaceAll('\r\n', '\n').trimEnd()).toBe(GOOD.text);
  });

  test('demands of a verification mail no way to unsubscribe, as it is no list’s', async () => {
    const headers = { 'Auto-Submitted': 'auto-generated', 'X-Ghost-Reason': 'verification' };
    expect((await send({ headers })).problems).toEqual([]);
    expect((await send({ headers: { ...GOOD.headers, ...headers } })).problems).toEqual([
      'a verification mail has List-Unsubscribe',
    ]);
  });

  test('keeps the whole message as a file for its owner', async () => {
    const mail = await send();
    expect(await readFile(mail.file)).toEqual(mail.raw);
    expect((await stat(mail.file)).mode & 0o777).toBe(0o600);
    expect(path.basename(mail.file)).toBe('00001-brian@example.test.eml');
  });

  test.each([
    ['Message-ID', { messageId: '<no address>' }],
    [
      'List-Unsubscribe',
      { headers: { ...GOOD.headers, 'List-Unsubscribe': 'mailto:x@example.test' } },
    ],
    ['List-Unsubscribe-Post', { headers: { ...GOOD.headers, 'List-Unsubscribe-Post': 'no' } }],
    ['Auto-Submitted', { headers: { ...GOOD.headers, 'Auto-Submitted': 'no' } }],
    ['To', { to: 'someone-else@example.test' }],
    [
      'recipients',
      { envelope: { from: 'a@example.test', to: ['b@example.test', 'c@example.test'] } },
    ],
    ['text', { text: '' }],
  ])('finds fault with %s', async (word, change) => {
    expect((await send(change)).problems.join('; ')).toContain(word);
  });

  test('finds a reply without its place in the thread', async () => {
    const mail = await send({ inReplyTo: undefined, references: undefined });
    expect(checkReply(mail)).toHaveLength(2);
  });
});
