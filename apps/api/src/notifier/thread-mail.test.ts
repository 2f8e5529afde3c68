import { type EmailMessage, joinMail } from '@ghost/contract';
import { mailSender } from '@ghost/operations';
import { describe, expect, test } from 'vitest';

import { commentPayload } from '../../../../test/support/fanout-world.js';
import { type MailEvent, threadMail } from './thread-mail.js';

const JOB = '019a0000-0000-7000-8000-000000000001';
const SENDER = {
  name: 'Ghost',
  address: 'noreply@ghost.example',
  publicUrl: 'https://ghost.example',
};
const payload = commentPayload({ ownerId: 1, repositoryId: 2, threadId: 3 }, 1, 'Hello *world*.');
const createdAt = new Date('2026-01-02T03:04:05Z');
const comment: MailEvent = { type: 'comment.created', payload, createdAt };

function joined(event: MailEvent): EmailMessage {
  const own = {
    to: { name: 'Reader', address: 'r@people.example' },
    slots: { r: 'watching', u: 'TOKEN' },
  };
  return joinMail(threadMail(event, SENDER), own, JOB);
}

describe('the mail of a comment', () => {
  test('says who wrote where, and answers to the thread', () => {
    expect(joined(comment)).toMatchObject({
      envelopeFrom: 'noreply@ghost.example',
      from: { name: 'Person 1 (Ghost)', address: 'noreply@ghost.example' },
      to: { name: 'Reader', address: 'r@people.example' },
      subject: 'Re: [owner/place] A thread (#1)',
      date: '2026-01-02T03:04:05.000Z',
      messageId: `<${JOB}@ghost.example>`,
      inReplyTo: '<thread.3@ghost.example>',
      references: ['<thread.3@ghost.example>'],
    });
  });

  test('carries what mail programs act on', () => {
    expect(joined(comment).headers).toEqual({
      'List-ID': 'owner/place <place.owner.ghost.example>',
      'List-Archive': '<https://ghost.example/owner/place/threads/1>',
      'List-Unsubscribe': '<https://ghost.example/api/unsubscribe/TOKEN>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      Precedence: 'list',
      'X-Ghost-Reason': 'watching',
    });
  });

  test('is the Markdown as it was written, and a foot with the reason and both links', () => {
    expect(joined(comment).text).toBe(
      [
        'Hello *world*.',
        '',
        '-- ',
        'Read it on Ghost: https://ghost.example/owner/place/threads/1#comment-1',
        'Why you get this: watching',
        'No more mails of this thread: https://ghost.example/api/unsubscribe/TOKEN',
        '',
      ].join('\n'),
    );
  });

  test('has no slot that a comment could forge', () => {
    const body = '{"slot":"u"} ${u} {{u}} [object Object]';
    const event: MailEvent = {
      ...comment,
      payload: commentPayload({ ownerId: 1, repositoryId: 2, threadId: 3 }, 1, body),
    };
    expect(joined(event).text.startsWith(`${body}\n\n-- \n`)).toBe(true);
    expect(joined(event).html).toContain('<p>{"slot":"u"} ${u} {{u}} [object Object]</p>');
  });

  test('is that Markdown as HTML too, with the same foot', () => {
    const { html = '' } = joined(comment);
    expect(html).toContain('<title>Re: [owner/place] A thread (#1)</title>');
    expect(html).toContain('<p>Hello <em>world</em>.</p>');
    expect(html).toContain(
      '<a href="https://ghost.example/owner/place/threads/1#comment-1">Read it on Ghost</a>. Why you get this: watching.',
    );
    expect(html).toContain(
      '<a href="https://ghost.example/api/unsubscribe/TOKEN">No more mails of this thread</a>',
    );
    expect(html).not.toMatch(/src=|url\(|@import|<img|<link/u);
  });

  test('leads to the rest of a long text, and stays below what providers hide', () => {
    for (const body of ['Words, and more of them.\n'.repeat(2_600), '字'.repeat(65_536)]) {
      const { text, html = '' } = joined({
        ...comment,
        payload: commentPayload({ ownerId: 1, repositoryId: 2, threadId: 3 }, 1, body),
      });
      const more = 'Read on: there is more of it on Ghost.';
      expect(text).toContain(`\n\n[${more}]\n\n-- \nRead it on Ghost: https://`);
      expect(html).toContain(`threads/1#comment-1">${more}</a>`);
      // In base64, with line ends, it is 1.37 times as long; headers and boundaries are some 4 KiB.
      expect(1.37 * (Buffer.byteLength(text) + Buffer.byteLength(html))).toBeLessThan(96 * 1024);
    }
  });

  test('without words says what happened', () => {
    const { text, html = '' } = joined({
      ...comment,
      payload: commentPayload({ ownerId: 1, repositoryId: 2, threadId: 3 }, 1, ' \n'),
    });
    expect(text).toMatch(/^Person 1 commented\.\n\n-- \n/u);
    expect(html).toContain('<p>Person 1 commented.</p>');
  });
});

describe('the other mails of a thread', () => {
  const { comment: _comment, ...inThread } = payload;

  test('an opened thread is its first text, and no reply', () => {
    const thread = { ...payload.thread, body: 'It is *broken*.' };
    const opened = joined({ type: 'thread.opened', payload: { ...inThread, thread }, createdAt });
    expect(opened.subject).toBe('[owner/place] A thread (#1)');
    expect(opened.text).toMatch(/^It is \*broken\*\.\n\n-- \nRead it on Ghost: \S+\/threads\/1\n/u);
    expect(opened.references).toEqual(joined(comment).references);
  });

  test('a closed or reopened one says who did it', () => {
    const closed = joined({ type: 'thread.closed', payload: inThread, createdAt });
    expect(closed.text).toMatch(/^Person 1 closed this thread\.\n/u);
    expect(closed.html).toContain('<p>Person 1 closed this thread.</p>');
    expect(closed.subject).toBe('Re: [owner/place] A thread (#1)');
    const reopened = joined({ type: 'thread.reopened', payload: inThread, createdAt });
    expect(reopened.text).toMatch(/^Person 1 reopened this thread\.\n/u);
  });
});

describe('names and titles', () => {
  const titled = (title: string, name = 'Jane', owner = 'owner'): EmailMessage =>
    joined({
      ...comment,
      payload: {
        ...payload,
        thread: { ...payload.thread, title },
        sender: { ...payload.sender, name },
        repository: { ...payload.repository, owner, name: 'a.b_c', full_name: `${owner}/a.b_c` },
      },
    });

  test('add no header, whatever they hold', () => {
    const evil = 'x\r\nBcc: victim@x.example\u2028\0y';
    const message = titled(evil, evil);
    expect(message.subject).toBe('Re: [owner/a.b_c] x Bcc: victim@x.example y (#1)');
    expect(message.from.name).toBe('person-1 (Ghost)');
    expect(titled('</title><script>x</script>').html).toContain(
      '<title>Re: [owner/a.b_c] &lt;/title&gt;&lt;script&gt;x&lt;/script&gt; (#1)</title>',
    );
    expect(Object.keys(message.headers)).toHaveLength(8);
  });

  test('keep the number at the end of a subject, however long the title', () => {
    const { subject } = titled('字'.repeat(1000));
    expect(subject).toMatch(/…\s\(#1\)$/u);
    expect([...subject].length).toBeLessThan(250);
  });

  test('make a List-ID of plain labels', () => {
    expect(titled('x').headers['List-ID']).toBe('owner/a.b_c <a-b-c.owner.ghost.example>');
  });
});

describe('the sender', () => {
  const publicUrl = 'https://code.example:8443';

  test('is GHOST_MAIL_FROM', () => {
    const mailFrom = { name: 'Code', address: 'bot@mail.example' };
    expect(mailSender({ mailFrom, publicUrl })).toEqual({
      name: 'Code',
      address: 'bot@mail.example',
      publicUrl,
    });
    expect(mailSender({ mailFrom: { ...mailFrom, name: null }, publicUrl }).name).toBe('Ghost');
  });

  test('is at the host of the links where that is not set, or localhost for an address', () => {
    const addressAt = (url: string) => mailSender({ mailFrom: null, publicUrl: url }).address;
    expect(addressAt(publicUrl)).toBe('noreply@code.example');
    expect(addressAt('http://127.0.0.1:3000')).toBe('noreply@localhost');
    expect(addressAt('http://[::1]:3000')).toBe('noreply@localhost');
  });
});
