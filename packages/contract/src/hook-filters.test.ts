import { describe, expect, test } from 'vitest';

import { FILTER_FIELD_NAMES } from './filter-fields.js';
import {
  canonicalFilters,
  futileFilter,
  hookFilters,
  MAX_FILTER_CHARACTERS,
  MAX_FILTER_VALUES,
  MAX_FILTERS,
} from './hook-filters.js';

const ADA = { field: 'sender.login', is: ['ada'] } as const;

const repeated = <T>(times: number, one: T): T[] => Array.from({ length: times }, () => one);

/** Where the faults are, and what is said of the first. */
function faultsOf(given: unknown): { at: string[]; message: string } {
  const { error } = hookFilters.safeParse(given);
  if (error === undefined) throw new Error('Nothing is at fault');
  const at = error.issues.map(({ path }) => path.join('.'));
  return { at, message: error.issues[0]?.message ?? '' };
}

describe('filters', () => {
  test('have a field, one operator and the values of which one must fit', () => {
    const given = [
      ADA,
      { field: 'thread.state', is_not: ['closed'] },
      { field: 'thread.number', is: [1, 2] },
      { field: 'repository.private', is: [true] },
      { field: 'thread.title', contains: ['bug'] },
      { field: 'comment.body', starts_with: ['/deploy'] },
    ];
    expect(hookFilters.parse(given)).toEqual(given);
    expect(hookFilters.parse([])).toEqual([]);
  });

  test.each(['sender', 'login', '', 'constructor', '__proto__', 'sender.__proto__', 'toString'])(
    'on the unknown field "%s" are refused, with those that are known',
    (field) => {
      const { at, message } = faultsOf([{ ...ADA, field }]);
      expect(at).toEqual(['0.field']);
      for (const known of FILTER_FIELD_NAMES) expect(message).toContain(known);
    },
  );

  test.each([
    ['no operator', { field: 'sender.login' }, '0', 'Say one of'],
    ['two', { ...ADA, is_not: ['bob'] }, '0', 'Say one of'],
    ['an unknown one', { field: 'sender.login', matches: ['.*'] }, '0', 'matches'],
    ['an inherited one', JSON.parse('{"field":"sender.login","__proto__":["a"]}'), '0', ''],
    [
      'one that the field has not',
      { field: 'sender.id', contains: [1] },
      '0.contains',
      'is, is_not',
    ],
    ['a search in a text', { field: 'comment.body', contains: ['a'] }, '0.contains', 'starts_with'],
    ['no value', { field: 'sender.login', is: [] }, '0.is', 'at least one'],
    ['a list of lists', { field: 'sender.login', is: [['ada']] }, '0.is.0', 'must be a text'],
    ['a number for a text', { field: 'sender.login', is: [7] }, '0.is.0', 'must be a text'],
    [
      'an empty text',
      { field: 'thread.title', contains: [''] },
      '0.contains.0',
      'a character or more',
    ],
    ['a text for a number', { field: 'sender.id', is: ['7'] }, '0.is.0', 'whole number'],
    ['a broken number', { field: 'sender.id', is: [1, 1.5] }, '0.is.1', 'whole number'],
    ['a text for a flag', { field: 'repository.private', is: ['true'] }, '0.is.0', 'true or false'],
    ['an unknown state', { field: 'thread.state', is: ['merged'] }, '0.is.0', 'open, closed'],
    ['NUL', { field: 'thread.title', is: ['a\0'] }, '0.is.0', 'cannot be stored'],
    ['half a pair', { field: 'thread.title', is: ['\ud83d'] }, '0.is.0', 'cannot be stored'],
    ['a long value', { field: 'thread.title', is: ['x'.repeat(257)] }, '0.is.0', '256'],
  ])('with %s are refused, and it is said where', (_name, filter, at, message) => {
    const faults = faultsOf([filter]);
    expect(faults.at).toEqual([at]);
    expect(faults.message).toContain(message);
  });

  test('are bounded in number, in values and in all, and counted before they are judged', () => {
    const many = (length: number) => Array.from({ length }, (_, n) => `login-${n}`);
    expect(hookFilters.safeParse(repeated(MAX_FILTERS, ADA)).success).toBe(true);
    expect(faultsOf(repeated(100_000, 'no filter'))).toMatchObject({ at: [''] });
    const values = (is: unknown[]) => [{ field: 'sender.login', is }];
    expect(hookFilters.safeParse(values(many(MAX_FILTER_VALUES))).success).toBe(true);
    expect(faultsOf(values(repeated(100_000, {})))).toMatchObject({ at: ['0.is'] });
    const long = Array(MAX_FILTER_CHARACTERS / 256 / 2).fill('x'.repeat(256));
    const twice = [...values(long), ...values(long)];
    expect(hookFilters.safeParse(twice).success).toBe(true);
    expect(faultsOf([...twice, ADA])).toMatchObject({ at: [''] });
  });

  test('are the same in whatever order their fields come back', () => {
    const stored = JSON.parse('[{"is":["ada"],"field":"sender.login"}]');
    expect(JSON.stringify(canonicalFilters(stored))).toBe(JSON.stringify([ADA]));
  });
});

describe('filters that nothing can pass', () => {
  const onMember = { field: 'member.login', is: ['bob'] } as const;
  const onComment = { field: 'comment.user.login', is_not: ['robot'] } as const;

  test('are those on a field that none of the asked events holds', () => {
    expect(futileFilter([ADA, onComment], ['thread.opened', 'member.added'])).toEqual({
      index: 1,
      message:
        'No event that the hook asks for holds "comment.user.login"; these do: comment.created, comment.edited, comment.deleted.',
    });
  });

  test('or that no asked event holds all of', () => {
    expect(futileFilter([onMember, onComment], ['*'])).toMatchObject({ index: null });
    expect(futileFilter([onMember, onComment], ['comment.created', 'member.added'])).toMatchObject({
      index: null,
    });
  });

  test('and no others', () => {
    expect(futileFilter([], ['member.added'])).toBeNull();
    expect(futileFilter([onMember], ['*'])).toBeNull();
    expect(futileFilter([ADA, onComment], ['thread.opened', 'comment.edited'])).toBeNull();
  });
});
