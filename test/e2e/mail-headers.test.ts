import { domainToUnicode } from 'node:url';

import { checkOwnEmail } from '@ghost/operations';
import fc from 'fast-check';
import { simpleParser } from 'mailparser';
import { describe, expect, test } from 'vitest';

import { personName } from '../../apps/api/src/notifier/header-safe.js';
import type { MailEvent } from '../../apps/api/src/notifier/thread-mail.js';
import { commentPayload } from '../support/comment-payload.js';
import { headerBytes, MOST_HEADER_BYTES, refusedByLimits } from '../support/mail-limits.js';
import { messageOf, mimeOf } from '../support/mime-of.js';

const NAMES = [
  ...['Doe, Jane', 'a"b\\c', "O'Neil", 'x <y@z>', '<>', '(comment)', 'a; b: c', '"', '\\', ','],
  ...['x\r\nBcc: victim@x.example', 'x\rBcc: v@x.example', 'x\nBcc: v@x.example\n\nbody', 'a\0b'],
  ...['\u202Eevil\u202C', '\u2066x\u2069', 'a\u2028b\u2029c', '\uFEFF', '\u200B', '\u00AD'],
  ...[
    '=?utf-8?q?x?=',
    '=?UTF-8?B?PGV2aWxAeC5leGFtcGxlPg==?=',
    '=?',
    '?=',
    'Žofie',
    'محمد',
    '李 小龍',
  ],
  ...[
    '👩‍👩‍👧‍👦',
    '🎉'.repeat(300),
    'x'.repeat(300),
    'a b '.repeat(75),
    '字'.repeat(300),
    '\uD800',
    'e\u0301'.repeat(150),
  ],
  ...[
    '',
    ' ',
    '  a  ',
    'undisclosed-recipients:;',
    'a, b <c@d.example>, e',
    '@',
    '.',
    'J. R.',
    '\t',
  ],
];
const text = fc.oneof(
  fc.constantFrom(...NAMES),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc
    .array(fc.constantFrom(...NAMES, 'a', ' ', '\r\n', '"'), { maxLength: 6 })
    .map((all) => all.join('')),
);
const LOCAL_CHARS = [..."abzAZ09!#$%&'*+/=?^_`{|}~-."];
const address = fc
  .tuple(
    fc.string({ unit: fc.constantFrom(...LOCAL_CHARS), minLength: 1, maxLength: 64 }),
    fc.constantFrom(
      'a.example',
      'xn--bcher-kva.example',
      `${'a'.repeat(63)}.${'b'.repeat(63)}.example`,
    ),
  )
  .map((parts) => parts.join('@'))
  .filter((all) => checkOwnEmail(all) === null);

interface Words {
  actor: string;
  reader: string;
  title: string;
  repository: string;
  address: string;
}

function commented({ actor, title, repository }: Words): MailEvent {
  const payload = commentPayload({ ownerId: 1, repositoryId: 2, threadId: 3 }, 1, 'Hello.');
  return {
    type: 'comment.created',
    createdAt: new Date('2026-01-02T03:04:05Z'),
    payload: {
      ...payload,
      sender: { ...payload.sender, name: actor },
      thread: { ...payload.thread, title },
      repository: { ...payload.repository, name: repository, full_name: `owner/${repository}` },
    },
  };
}

// Each once, in any order; those of MIME are the sender's.
const FIELDS = [
  ...['auto-submitted', 'content-type', 'date', 'from', 'in-reply-to', 'list-archive', 'list-id'],
  ...['list-unsubscribe', 'list-unsubscribe-post', 'message-id', 'mime-version', 'precedence'],
  ...['references', 'subject', 'to', 'x-auto-response-suppress', 'x-ghost-reason'],
];

/** What a mail of these words is, once it went through all and came to a mail program. */
async function expectWhole(words: Words): Promise<void> {
  const message = messageOf(commented(words), {
    name: personName({ login: 'reader', name: words.reader }),
    address: words.address,
  });
  const { to, raw } = await mimeOf(message);
  expect(to).toEqual([words.address]);
  expect(refusedByLimits(raw)).toBeUndefined();
  const parsed = await simpleParser(raw);
  const fields = parsed.headerLines.map(({ key }) => key);
  expect(fields.toSorted()).toEqual(FIELDS);
  // Every line of the head is a field of that list or goes one on: no lone CR or LF that some program splits at.
  const head = raw.subarray(0, headerBytes(raw)).toString('latin1');
  expect(head).toMatch(/^(?:[A-Za-z-]+:[\t -~]*\r\n(?:[\t ]+[!-~][\t -~]*\r\n)*)+$/u);
  // mailparser shows an international domain as people write it.
  const [local, domain] = message.to.address.split('@');
  const shown = { ...message.to, address: `${local}@${domainToUnicode(domain ?? '')}` };
  expect(parsed.to).toMatchObject({ value: [shown] });
  expect(parsed.from?.value).toEqual([message.from]);
  expect(parsed.subject).toBe(message.subject);
  expect(parsed.headers.get('list')).toMatchObject({
    id: { id: expect.stringMatching(/^[A-Za-z0-9-]+\.owner\.ghost\.example$/u) },
    unsubscribe: {
      url: expect.stringMatching(/^https:\/\/ghost\.example\/api\/unsubscribe\/x+$/u),
    },
  });
}

const PLAIN = {
  actor: 'Ada',
  reader: 'Ben',
  title: 'A thread',
  repository: 'place',
  address: 'ben@a.example',
};

describe('whatever a person may type', () => {
  test.each(NAMES)(
    '%j as a name, a title and a repository adds no header and no recipient',
    async (name) => {
      await expectWhole({
        ...PLAIN,
        actor: name,
        reader: name,
        title: name,
        repository: `r${name}`,
      });
    },
  );

  test('of any mixture, too', async () => {
    const words = fc.record({
      actor: text,
      reader: text,
      title: text,
      repository: text.map((name) => `r${name}`),
      address,
    });
    await fc.assert(fc.asyncProperty(words, expectWhole), { numRuns: 100 });
  });

  test('and all at its longest fits into the header of a strict relay', async () => {
    const long = '👩‍👩‍👧‍👦'.repeat(100);
    const { raw } = await mimeOf(
      messageOf(commented({ ...PLAIN, actor: long, title: long, repository: 'r'.repeat(100) }), {
        name: personName({ login: 'reader', name: long }),
        address: `${'a'.repeat(64)}@${`${'b'.repeat(60)}.`.repeat(3)}example`,
      }),
    );
    // A signature of DKIM with 2,048 bits and its fields takes some 800.
    expect(headerBytes(raw)).toBeLessThan(MOST_HEADER_BYTES - 800);
  });
});

test.each([
  'zoë@a.example',
  '李@a.example',
  '"a b"@a.example',
  'a@bücher.example',
  'a,b@a.example',
  'a\r\n@a.example',
])('the address %j is refused, and told why', (given) => {
  expect(checkOwnEmail(given)).toMatch(/ is no mail address: .*(?:ASCII|xn--)/u);
});
