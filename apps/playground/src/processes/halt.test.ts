import { describe, expect, test } from 'vitest';

import { createHalt, HaltedError, haltOnSignals } from './halt.js';

describe('createHalt', () => {
  test('keeps the first reason and tells everyone who waits', async () => {
    const halt = createHalt();
    halt.check();
    const waited = halt.wait();
    halt.stop({ kind: 'asked', signal: 'SIGINT' });
    halt.stop({ kind: 'failed', error: new Error('later') });
    expect(await waited).toEqual({ kind: 'asked', signal: 'SIGINT' });
    expect(await halt.wait()).toEqual({ kind: 'asked', signal: 'SIGINT' });
    expect(halt.signal.aborted).toBe(true);
    expect(() => halt.check()).toThrow(HaltedError);
  });
});

describe('haltOnSignals', () => {
  test('takes what npm passes on for an echo, and a later signal for a second wish', () => {
    const halt = createHalt();
    const forced: string[] = [];
    let now = 0;
    const before = process.listenerCount('SIGINT');
    const release = haltOnSignals(
      halt,
      (signal) => forced.push(signal),
      () => now,
    );
    try {
      process.emit('SIGINT', 'SIGINT');
      expect(halt.reason).toEqual({ kind: 'asked', signal: 'SIGINT' });
      now = 400;
      process.emit('SIGINT', 'SIGINT');
      expect(forced).toEqual([]);
      now = 600;
      process.emit('SIGTERM', 'SIGTERM');
      expect(forced).toEqual(['SIGTERM']);
    } finally {
      release();
    }
    expect(process.listenerCount('SIGINT')).toBe(before);
  });
});
