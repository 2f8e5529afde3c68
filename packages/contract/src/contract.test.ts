import { readdirSync, readFileSync } from 'node:fs';

import { describe, expect, test } from 'vitest';

import {
  deliveryJob,
  EVENT_SCHEMAS,
  joinMail,
  type MailContent,
  toStorableJson,
  toStorableText,
} from './index.js';
import { deliveryJobJsonSchema } from './json-schema.js';

const FIXTURES = new URL('../fixtures/v1/', import.meta.url);

function fixtures(folder: 'accepted' | 'rejected'): [string, unknown][] {
  const files = readdirSync(new URL(folder, FIXTURES));
  return files.map((file) => [
    file,
    JSON.parse(readFileSync(new URL(`${folder}/${file}`, FIXTURES), 'utf8')),
  ]);
}

describe('the job’s shape', () => {
  test.each(fixtures('accepted'))('accepts %s and keeps every field', (_file, value) => {
    expect(deliveryJob.parse(value)).toEqual(value);
  });

  test.each(fixtures('rejected'))('rejects %s', (_file, value) => {
    expect(deliveryJob.safeParse(value).success).toBe(false);
  });

  test('the JSON Schema that is checked in is the one that the code makes', () => {
    const file = new URL('../schemas/delivery-job.v1.json', import.meta.url);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(deliveryJobJsonSchema());
  });
});

const CONTENT: MailContent = {
  envelopeFrom: 'bounce@ghost.example',
  from: { name: 'Ada', address: 'a@ghost.example' },
  subject: ['Hi ', { slot: 'name' }],
  text: ['{"slot":"name"} ${name} {{name}} ', { slot: 'name' }],
  date: '2026-11-01T10:00:00.000Z',
  messageIdDomain: 'ghost.example',
  headers: [['X-For', [{ slot: 'name' }]]],
};
const OWN = { to: { name: 'R', address: 'r@x.example' }, slots: { name: 'Reader' } };

describe('a mail is joined from parts', () => {
  test('the same parts and id give the same message, and text that looks like a slot stays text', () => {
    const first = joinMail(CONTENT, OWN, '018f');
    expect(joinMail(structuredClone(CONTENT), structuredClone(OWN), '018f')).toEqual(first);
    expect(first).toMatchObject({
      subject: 'Hi Reader',
      text: '{"slot":"name"} ${name} {{name}} Reader',
      messageId: '<018f@ghost.example>',
      headers: { 'X-For': 'Reader' },
    });
  });

  test('a slot without a value is an error, not an empty place', () => {
    expect(() => joinMail(CONTENT, { ...OWN, slots: {} }, '018f')).toThrow('slot "name"');
  });

  test('a value with a line break does not become a header', () => {
    const own = { ...OWN, slots: { name: 'x\r\nBcc: y@z.example' } };
    expect(() => joinMail(CONTENT, own, '018f')).toThrow('CR, LF or NUL');
  });
});

describe('storable text', () => {
  test('NUL and lone surrogates become U+FFFD; everything else stays', () => {
    expect(toStorableText('a\0b\ud800c')).toBe('a\uFFFDb\uFFFDc');
    expect(toStorableText('👋 漢字 \u2028 é')).toBe('👋 漢字 \u2028 é');
  });

  test('JSON is storable in depth, keys included', () => {
    const text = toStorableJson({ 'k\0': ['\ud83d', { deep: '\0' }], when: new Date(0) });
    expect(text).not.toMatch(/\\u0000|\\ud83d/u);
    expect(JSON.parse(text)).toEqual({
      'k\uFFFD': ['\uFFFD', { deep: '\uFFFD' }],
      when: '1970-01-01T00:00:00.000Z',
    });
  });
});

test('an event keeps the fields that this version does not know', () => {
  const actor = { id: 1, login: 'ada', name: 'Ada', pronouns: 'she' };
  const repository = {
    id: 1,
    owner: 'ada',
    name: 'demo',
    full_name: 'ada/demo',
    private: false,
    html_url: 'x',
  };
  const payload = { repository, sender: actor, member: actor, newer: true };
  expect(EVENT_SCHEMAS['member.added'].parse(payload)).toEqual(payload);
});

describe('an event of a comment', () => {
  const actor = { id: 1, login: 'ada', name: 'Ada' };
  const at = '2026-01-02T03:04:05.000Z';
  const payload = {
    repository: {
      id: 1,
      owner: 'ada',
      name: 'demo',
      full_name: 'ada/demo',
      private: false,
      html_url: 'x',
    },
    sender: actor,
    thread: {
      id: 2,
      number: 1,
      title: 'A thread',
      body: '',
      state: 'open',
      html_url: 'x',
      user: actor,
      created_at: at,
    },
    comment: { id: 3, body: 'Hi @ada', html_url: 'x', user: actor, created_at: at, updated_at: at },
  };
  const schema = EVENT_SCHEMAS['comment.created'];

  test('may lack what earlier events lacked', () => {
    expect(schema.parse(payload)).toEqual(payload);
  });

  test('holds its number, its mentions and the times of its thread', () => {
    const full = {
      ...payload,
      thread: { ...payload.thread, updated_at: at, closed_at: null },
      comment: { ...payload.comment, number: 7, mentions: [actor] },
    };
    expect(schema.parse(full)).toEqual(full);
  });

  test.each([
    ['a number that is none', { number: 0 }],
    ['a mention that is a login alone', { mentions: ['ada'] }],
    ['mentions of nobody', { mentions: null }],
  ])('has not %s', (_name, wrong) => {
    const comment = { ...payload.comment, ...wrong };
    expect(schema.safeParse({ ...payload, comment }).success).toBe(false);
  });
});
