import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { createTeller } from './teller.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

async function run(isTTY: boolean, seconds: number): Promise<string> {
  let written = '';
  const output = { isTTY, columns: 30, write: (text: string) => (written += text) };
  await createTeller(output).step('Making the data', async () => {
    await vi.advanceTimersByTimeAsync(seconds * 1000);
  });
  expect(vi.getTimerCount()).toBe(0);
  return written;
}

test('what others wrote reaches the terminal without what would steer it', () => {
  let written = '';
  createTeller({ write: (text: string) => (written += text) }).say('red: \u001B[31m\n\u202Eb');
  expect(written).toBe('red: \\u001b[31m\n\\u202eb\n');
});

describe('a step', () => {
  test('without a terminal: a line at once, and one now and then', async () => {
    expect(await run(false, 0)).toBe('Making the data …\n');
    expect(await run(false, 12)).toBe(
      'Making the data …\nMaking the data … 5 s\nMaking the data … 10 s\n',
    );
  });

  test('on a terminal: one line that counts the seconds and stays', async () => {
    expect(await run(true, 2)).toBe(
      ['Making the data …', 'Making the data … 1 s', 'Making the data … 2 s']
        .map((text) => `\r\u001B[K${text}`)
        .join('') + '\n',
    );
  });

  test('a failure is passed on, and the line ends', async () => {
    let written = '';
    const output = { isTTY: true, write: (text: string) => (written += text) };
    const failing = createTeller(output).step('Starting', () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(written.endsWith('\n')).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([true, false])(
    'a line that is said meanwhile stands alone (terminal: %s)',
    async (isTTY) => {
      let written = '';
      const teller = createTeller({ isTTY, write: (text: string) => (written += text) });
      await teller.step('Starting', async () => {
        await Promise.resolve();
        teller.say('a webhook');
      });
      teller.say('Ready.');
      expect(written).toBe(
        isTTY
          ? '\r\u001B[KStarting …\r\u001B[Ka webhook\nStarting …\nReady.\n'
          : 'Starting …\na webhook\nReady.\n',
      );
    },
  );
});
