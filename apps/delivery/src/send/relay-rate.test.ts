import { createPostgresQueue } from '@ghost/queue';
import { describe, expect, onTestFinished, test } from 'vitest';

import { createTestDatabase } from '../../../../test/support/test-database.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { RelayRate } from './relay-rate.js';

const TIMER_EARLY_MS = 2;

/** A rate of 1,000 / `everyMs` a second for each of so many workers, on a queue of the test's own. */
async function workers(
  count: number,
  everyMs: number,
  around: (inMs: number) => number = (inMs) => inMs,
) {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const queue = createPostgresQueue({ pool: database.pool(4) });
  const asked: number[] = [];
  const went: number[] = [];
  let skippedMs = 0;
  const monotonic = () => performance.now() + skippedMs;
  const rates = Array.from(
    { length: count },
    () =>
      new RelayRate({
        rate: { messages: 1_000, perMs: 1_000 * everyMs },
        queue: {
          takeRelayTurns: async (turns, ...more) => {
            asked.push(turns);
            return around(await queue.takeRelayTurns(turns, ...more));
          },
        },
        monotonic,
      }),
  );
  return {
    asked,
    /** When each mail went. */
    went,
    skip: (ms: number) => {
      skippedMs += ms;
    },
    go: (worker: number, stop = new AbortController().signal) =>
      (rates[worker] ?? expect.unreachable())
        .turn(stop)
        .then(() => void went.push(performance.now())),
  };
}

const times = (count: number, work: (n: number) => Promise<void>) =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)));

describe('the rate of the relay', () => {
  test('is that of all workers together, and takes a statement a batch', async () => {
    const { go, asked } = await workers(3, 10);
    const startedAt = performance.now();
    await times(30, (n) => go(n % 3));
    expect(performance.now() - startedAt).toBeGreaterThan(29 * 10 - TIMER_EARLY_MS);
    expect(asked).toEqual([10, 10, 10]);
  });

  test('takes turns for a second ahead at most, and for those alone who wait', async () => {
    const { go, asked } = await workers(1, 400);
    const ends = new AbortController();
    const gone = times(9, () => go(0, ends.signal));
    await waitUntil(() => asked.length > 0, { what: 'turns to be taken' });
    expect(asked).toEqual([2]);
    ends.abort('shutdown');
    await gone;
    await go(0);
    expect(asked).toEqual([2]);
  });

  test('gives a turn to the next where a mail need not go any more', async () => {
    const { go, asked } = await workers(1, 400);
    const ends = new AbortController();
    const first = go(0);
    const second = go(0, ends.signal);
    const third = go(0);
    await first;
    ends.abort('lease_lost');
    await second;
    await third;
    expect(asked).toEqual([2]);
    await go(0, AbortSignal.abort('shutdown'));
    expect(asked).toEqual([2]);
  });

  test('loses the turns of a time when the process did not run', async () => {
    const { go, asked, skip } = await workers(1, 50);
    const startedAt = performance.now();
    const first = go(0);
    const others = times(4, () => go(0));
    await first;
    skip(5_000);
    await others;
    // The second came late and was lost with those behind it.
    expect(asked).toEqual([5, 4]);
    expect(performance.now() - startedAt).toBeGreaterThan((5 + 3) * 50 - TIMER_EARLY_MS);
  });

  test('loses the turns that were taken while the process did not run', async () => {
    let stood = false;
    const { go, asked, skip } = await workers(1, 50, (inMs) => {
      if (!stood) skip(5_000);
      stood = true;
      return inMs;
    });
    await times(3, () => go(0));
    expect(asked).toEqual([3, 3]);
  });

  test('fails those who wait when the turns cannot be taken, and goes on with the next', async () => {
    let away = true;
    const { go, went } = await workers(1, 10, (inMs) => {
      if (away) throw new Error('the database is away');
      return inMs;
    });
    const failed = await Promise.allSettled([go(0), go(0)]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    away = false;
    await go(0);
    expect(went).toHaveLength(1);
  });
});
