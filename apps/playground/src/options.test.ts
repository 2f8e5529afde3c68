import { describe, expect, test } from 'vitest';

import { readOptions } from './options.js';

const read = (...args: string[]) => readOptions(args, '/project/.ghost');

describe('readOptions', () => {
  test('knows what to do without any', () => {
    expect(read()).toEqual({
      help: false,
      once: false,
      reset: false,
      port: null,
      comments: 20,
      timeoutMs: 120_000,
      folder: '/project/.ghost',
    });
  });

  test('reads each of them', () => {
    expect(
      read('--once', '--comments', '3', '--timeout=5', '--port', '4000', '--dir', '/x'),
    ).toEqual(
      expect.objectContaining({
        once: true,
        comments: 3,
        timeoutMs: 5000,
        port: 4000,
        folder: '/x',
      }),
    );
  });

  test.each([
    [['--nope'], /--nope/u],
    [['stray'], /stray/u],
    [['--port', '0'], /--port must be a whole number from 1 to 65535/u],
    [['--port', '70000'], /70000/u],
    [['--once', '--comments', '1e3'], /1e3/u],
    [['--once', '--timeout', '-1'], /timeout/u],
    [['--comments', '3'], /--comments does something only with --once/u],
    [['--timeout', '3'], /--timeout does something only with --once/u],
    [['--dir', ''], /--dir is empty/u],
    [['--dir', ' ', '--reset'], /--dir is empty/u],
  ])('refuses %j in one message, exit 1', (args, message) => {
    expect(() => read(...args)).toThrow(message);
    expect(() => read(...args)).toThrow(expect.objectContaining({ exitCode: 1 }) as Error);
  });
});
