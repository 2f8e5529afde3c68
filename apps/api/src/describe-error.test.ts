import { DrizzleQueryError } from 'drizzle-orm';
import { expect, test } from 'vitest';

import { describeError } from './describe-error.js';

test('tells class, code and message in one short line', () => {
  const error = Object.assign(new TypeError(`cannot\nread   that ${'x'.repeat(1000)}`), {
    code: 'E42',
  });
  const described = describeError(error);
  expect(described.error).toMatch(/^TypeError E42: cannot read that x+$/u);
  expect(described.error).toHaveLength(300);
  expect(described.frames[0]).toContain('describe-error.test');
});

test('never tells the parameters of a statement that failed', () => {
  const cause = Object.assign(new Error('deadlock detected'), { code: '40P01' });
  const error = new DrizzleQueryError('insert into x values ($1)', ['a secret comment'], cause);
  const described = describeError(error);
  expect(described.error).toBe('Error 40P01: deadlock detected');
  expect(JSON.stringify(described)).not.toContain('secret');
});

test('says so of what is no error, and keeps what Postgres can store', () => {
  expect(describeError('text').error).toBe('a value that is no Error was thrown');
  expect(describeError(new Error('a\0b\ud800')).error).toBe('Error: a\ufffdb\ufffd');
});
