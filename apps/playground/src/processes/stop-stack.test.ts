import { expect, test } from 'vitest';

import { createStopStack } from './stop-stack.js';

test('stops the last first, and the rest although one of them fails', async () => {
  const order: string[] = [];
  const stack = createStopStack((name) => order.push(`stopping ${name}`));
  stack.add('first', () => void order.push('first'));
  stack.add('second', () => Promise.reject(new Error('stuck')));
  stack.add('third', async () => {
    await Promise.resolve();
    order.push('third');
  });
  const failures = await stack.unwind();
  expect(order).toEqual(['stopping third', 'third', 'stopping second', 'stopping first', 'first']);
  expect(failures.map((failure) => failure.message)).toEqual(['second did not stop as it should']);
  expect(await stack.unwind()).toEqual([]);
});
