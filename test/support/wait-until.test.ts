import { expect, test } from 'vitest';
import { waitUntil } from './wait-until.js';

test('returns the first true-like answer', async () => {
  const answers = [undefined, 0, '', 'there'];
  expect(await waitUntil(() => answers.shift(), { everyMs: 1, what: 'an answer' })).toBe('there');
});

test('explains a wait that was in vain with the last answer', async () => {
  const waited = waitUntil(() => Promise.resolve(0), {
    timeoutMs: 5,
    everyMs: 1,
    what: () => 'the third mail',
  });
  await expect(waited).rejects.toThrow('Waited 5 ms for the third mail, in vain (last answer: 0).');
});

test('ends at once when the question itself fails', async () => {
  const waited = waitUntil(() => Promise.reject(new Error('no such table')), { what: 'rows' });
  await expect(waited).rejects.toThrow('no such table');
});
