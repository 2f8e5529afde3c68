import {
  FILTER_FIELD_NAMES,
  FILTER_FIELDS,
  type FilterField,
  type FilterOperator,
  type FilterValue,
  type HookFilter,
  OPERATORS_OF,
} from '@ghost/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { failedFilter, passesFilter } from './passes-filter.js';

const PAYLOAD = {
  repository: { private: true },
  sender: { id: 7, login: 'Ada', name: 'Ada' },
  thread: { number: 3, title: 'A Bug', body: '/deploy now', state: 'open', closed_at: null },
};
const filter = (field: string, operator: string, ...values: FilterValue[]) =>
  ({ field, [operator]: values }) as unknown as HookFilter;

describe('a filter', () => {
  test.each([
    ['a login without case', filter('sender.login', 'is', 'bob', 'aDA'), true],
    ['another login', filter('sender.login', 'is', 'ad'), false],
    ['not a login, without case', filter('sender.login', 'is_not', 'ADA'), false],
    ['a number', filter('sender.id', 'is', 7), true],
    ['a number that is written as text', filter('sender.id', 'is', '7'), false],
    ['not a number', filter('thread.number', 'is_not', 3, 4), false],
    ['a flag', filter('repository.private', 'is', true), true],
    ['the other flag', filter('repository.private', 'is', false), false],
    ['a state', filter('thread.state', 'is_not', 'closed'), true],
    ['a part of a title', filter('thread.title', 'contains', 'x', 'Bug'), true],
    ['a part of a title in another case', filter('thread.title', 'contains', 'bug'), false],
    ['how a text begins', filter('thread.body', 'starts_with', '/deploy'), true],
    ['what comes later in a text', filter('thread.body', 'starts_with', 'now'), false],
    ['signs that a pattern would read otherwise', filter('thread.title', 'is', 'A .*'), false],
  ])('on %s', (_name, given, passes) => {
    expect(passesFilter(given, PAYLOAD)).toBe(passes);
  });

  test('on a field that the event has not is not passed, whatever it asks', () => {
    for (const operator of ['is', 'is_not']) {
      expect(passesFilter(filter('comment.user.login', operator, 'ada'), PAYLOAD)).toBe(false);
      expect(passesFilter(filter('sender.login', operator, 'ada'), null)).toBe(false);
      expect(passesFilter(filter('sender.login', operator, 'ada'), { sender: 'ada' })).toBe(false);
      expect(passesFilter(filter('thread.title', operator, 'x'), { thread: { title: {} } })).toBe(
        false,
      );
    }
  });

  test.each([
    filter('thread.labels', 'is_not', 'bug'),
    filter('constructor.name', 'is_not', 'x'),
    filter('__proto__.constructor', 'is_not', 'x'),
    filter('sender.login', 'matches', '.*'),
    filter('sender.login', 'constructor', 'Ada'),
  ])('of a newer version is not passed: %j', (unknown) => {
    expect(passesFilter(unknown, PAYLOAD)).toBe(false);
  });

  test('finds nothing that a payload inherits', () => {
    const inherited = Object.create({ sender: { login: 'ada' } }) as object;
    expect(passesFilter(filter('sender.login', 'is', 'ada'), inherited)).toBe(false);
  });
});

describe('all filters of a hook', () => {
  test('must be passed; the first that is not is told', () => {
    const [passed, failed] = [filter('sender.id', 'is', 7), filter('thread.state', 'is', 'closed')];
    expect(failedFilter([], PAYLOAD)).toBeNull();
    expect(failedFilter([passed, passed], PAYLOAD)).toBeNull();
    expect(failedFilter([passed, failed, passed], PAYLOAD)).toBe(failed);
  });

  test('say the same as a plain reading of each, of whatever event', () => {
    fc.assert(
      fc.property(fc.array(anyFilter(), { maxLength: 10 }), anyPayload(), (filters, payload) => {
        const first = filters.find((one) => !plainly(one, payload)) ?? null;
        expect(failedFilter(filters, payload)).toBe(first);
      }),
    );
  });
});

// Few words, so that they meet.
const word = () => fc.constantFrom('a', 'A', 'ab', 'b', 'ba', 'open', 'closed', '.*', '__proto__');
const scalar = () => fc.oneof(word(), fc.constantFrom(1, 2, 3), fc.boolean());

function anyFilter(): fc.Arbitrary<HookFilter> {
  return fc.constantFrom(...FILTER_FIELD_NAMES).chain((field) =>
    fc
      .record({
        operator: fc.constantFrom(...OPERATORS_OF[FILTER_FIELDS[field]]),
        values: fc.array(scalar(), { minLength: 1, maxLength: 3 }),
      })
      .map(({ operator, values }) => filter(field, operator, ...values)),
  );
}

function anyPayload(): fc.Arbitrary<unknown> {
  const field = fc.oneof(scalar(), fc.constantFrom(null, undefined, [], {}));
  const person = fc.record({ id: field, login: field }, { requiredKeys: [] });
  const place = fc.record(
    { id: field, number: field, title: field, body: field, state: field, user: person },
    { requiredKeys: [] },
  );
  return fc.record(
    {
      sender: person,
      member: person,
      repository: fc.record({ private: field }, { requiredKeys: [] }),
      thread: place,
      comment: place,
    },
    { requiredKeys: [] },
  );
}

function plainly({ field, ...rest }: HookFilter, payload: unknown): boolean {
  const [[operator, values] = []] = Object.entries(rest) as [FilterOperator, FilterValue[]][];
  // oxlint-disable-next-line typescript/no-explicit-any
  const found = field.split('.').reduce((at: any, step) => at?.[step], payload);
  if (!['string', 'number', 'boolean'].includes(typeof found)) return false;
  const same = isLogin(field)
    ? (value: FilterValue) =>
        typeof value === typeof found && `${value}`.toLowerCase() === `${found}`.toLowerCase()
    : (value: FilterValue) => value === found;
  switch (operator) {
    case 'is':
      return (values ?? []).some(same);
    case 'is_not':
      return (values ?? []).every((value) => !same(value));
    case 'starts_with':
      return (values ?? []).some((value) => `${found}`.slice(0, `${value}`.length) === `${value}`);
    case 'contains':
      return (values ?? []).some((value) => `${found}`.split(`${value}`).length > 1);
    case undefined:
      return false;
  }
}

function isLogin(field: FilterField): boolean {
  return field.endsWith('.login');
}
