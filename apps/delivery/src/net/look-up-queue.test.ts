import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { type LookedUp, LookUpQueue } from './look-up-queue.js';

const AT_ONCE = 64;
const SLOW = 32;
const MOST_UNANSWERED = 512;
const MOST_WAITING = 10_000;
const PATIENCE_MS = 100;
const SLOW_FOR_MS = 60_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A queue whose look-ups end when the test says so. */
function queue() {
  const asked: string[] = [];
  const ends = new Map<string, (result: LookedUp<string>) => void>();
  const lookUps = new LookUpQueue<string>(
    (host) => {
      asked.push(host);
      return new Promise((resolve) => ends.set(host, resolve));
    },
    'too many',
    () => Date.now(),
  );
  const end = async (host: string, unanswered: boolean) => {
    ends.get(host)?.({ found: unanswered ? 'nothing' : `found ${host}`, unanswered });
    ends.delete(host);
    await vi.advanceTimersByTimeAsync(0);
  };
  return {
    lookUps,
    asked,
    find: (host: string, signal?: AbortSignal) => lookUps.find(host, signal),
    /** Asks for so many names that differ, which nobody waits for. */
    findMany: (count: number, prefix: string) => {
      for (let n = 0; n < count; n += 1) void lookUps.find(`${prefix}-${n}`);
    },
    answer: (host: string) => end(host, false),
    stayUnanswered: (host: string) => end(host, true),
  };
}

describe('look-ups of new names', () => {
  test('of one name that overlap are one; a later one asks again', async () => {
    const { asked, find, answer } = queue();
    const both = Promise.all([find('a'), find('a')]);
    await answer('a');
    expect(await both).toEqual(['found a', 'found a']);
    void find('a');
    expect(asked).toEqual(['a', 'a']);
  });

  test('wait in turn when too many are under way', async () => {
    const { lookUps, asked, find, findMany, answer } = queue();
    findMany(AT_ONCE, 'first');
    void find('next');
    void find('last');
    expect(asked).toHaveLength(AT_ONCE);
    expect([lookUps.underWay, lookUps.waiting]).toEqual([AT_ONCE, 2]);
    await answer('first-7');
    expect(asked.slice(AT_ONCE)).toEqual(['next']);
  });

  test('are refused when too many wait', async () => {
    const { asked, find, findMany } = queue();
    findMany(AT_ONCE + MOST_WAITING, 'first');
    expect(await find('one more')).toBe('too many');
    void find('first-0');
    expect(asked).toHaveLength(AT_ONCE);
  });

  test('that fail tell so, and make room', async () => {
    const lookUps = new LookUpQueue<string>(
      () => Promise.reject(new Error('no memory')),
      'too many',
      () => 0,
    );
    await expect(lookUps.find('a')).rejects.toThrow('no memory');
    expect(lookUps.underWay).toBe(0);
  });

  test('are not begun when nobody wants to know any more', async () => {
    const { lookUps, asked, find, findMany, answer } = queue();
    findMany(AT_ONCE, 'first');
    const [one, other] = [new AbortController(), new AbortController()];
    void find('left', one.signal);
    void find('wanted', one.signal);
    void find('wanted', other.signal);
    one.abort();
    expect(lookUps.waiting).toBe(1);
    await answer('first-0');
    expect(asked.slice(AT_ONCE)).toEqual(['wanted']);
  });

  test('that wait at the end are not begun', async () => {
    const { lookUps, asked, find, findMany, answer } = queue();
    findMany(AT_ONCE, 'first');
    const waiting = find('waiting');
    lookUps.close();
    expect(await waiting).toBe('too many');
    await answer('first-0');
    expect([asked.length, lookUps.waiting]).toEqual([AT_ONCE, 0]);
  });
});

describe('names that are never answered', () => {
  test('make room for others after a while, and are still under way', async () => {
    const { lookUps, asked, find, findMany } = queue();
    findMany(AT_ONCE, 'dead');
    void find('healthy');
    await vi.advanceTimersByTimeAsync(PATIENCE_MS - 1);
    expect(asked).not.toContain('healthy');
    await vi.advanceTimersByTimeAsync(1);
    expect(asked).toContain('healthy');
    expect(lookUps.underWay).toBe(AT_ONCE + 1);
  });

  test('keep no name waiting that was answered when it was last asked for', async () => {
    const { lookUps, asked, find, findMany, answer, stayUnanswered } = queue();
    void find('proven');
    await answer('proven');
    findMany(1_000, 'dead');
    void find('new');
    void find('proven');
    expect(asked).not.toContain('new');
    expect(asked.at(-1)).toBe('proven');
    await answer('proven');
    await vi.advanceTimersByTimeAsync(100 * PATIENCE_MS);
    const begun = asked.filter((host) => host.startsWith('dead'));
    expect(lookUps.underWay).toBe(begun.length);
    expect(begun.length).toBeGreaterThanOrEqual(MOST_UNANSWERED);
    expect(begun.length).toBeLessThanOrEqual(MOST_UNANSWERED + AT_ONCE);
    expect(asked).not.toContain('new');
    for (const host of begun) await stayUnanswered(host);
    await vi.advanceTimersByTimeAsync(10 * PATIENCE_MS);
    expect(asked).toContain('new');
  });

  async function remembered(count: number) {
    const made = queue();
    for (let n = 0; n < count; n += 1) {
      void made.find(`dead-${n}`);
      await made.stayUnanswered(`dead-${n}`);
    }
    made.asked.length = 0;
    return made;
  }

  test('are few at once when they are asked for again, and keep nobody else waiting', async () => {
    const { asked, find, findMany, stayUnanswered } = await remembered(SLOW + 2);
    findMany(SLOW + 2, 'dead');
    expect(asked).toHaveLength(SLOW);
    findMany(AT_ONCE, 'healthy');
    expect(asked).toHaveLength(SLOW + AT_ONCE);
    await stayUnanswered('dead-0');
    expect(asked.at(-1)).toBe(`dead-${SLOW}`);
    void find('dead-0');
    expect(asked).toHaveLength(SLOW + AT_ONCE + 1);
  });

  test('are like any other once they are answered', async () => {
    const { asked, find, findMany, answer } = await remembered(SLOW + 1);
    void find('dead-0');
    await answer('dead-0');
    findMany(SLOW + 1, 'dead');
    expect(asked).toHaveLength(1 + SLOW + 1);
  });

  test('are like any other after a minute', async () => {
    const { asked, findMany } = await remembered(SLOW + 1);
    await vi.advanceTimersByTimeAsync(SLOW_FOR_MS);
    findMany(SLOW + 1, 'dead');
    expect(asked).toHaveLength(SLOW + 1);
  });

  test('are remembered to a bound: the oldest is forgotten', async () => {
    const { asked, find, findMany } = await remembered(10_001);
    for (let n = 1; n <= SLOW; n += 1) void find(`dead-${n}`);
    void find('dead-10000');
    expect(asked).toHaveLength(SLOW);
    findMany(1, 'dead');
    expect(asked.at(-1)).toBe('dead-0');
  });
});
