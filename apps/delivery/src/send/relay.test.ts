import { describe, expect, test, vi } from 'vitest';

import { Relay } from './relay.js';

describe('the relay', () => {
  test('rests longer after each fault, once a batch, and is probed by one mail', async () => {
    let now = 1_000;
    const told: string[] = [];
    const relay = new Relay({
      connections: 10,
      pause: async (reason, pauseMs) => void told.push(`${reason} ${pauseMs}`),
      monotonic: () => now,
    });
    expect(relay.capacity).toBe(10);
    await Promise.all([
      relay.rest('relay_auth'),
      relay.rest('relay_auth'),
      relay.rest('relay_auth'),
    ]);
    expect(told).toEqual(['relay_auth 5000']);
    expect(relay.capacity).toBe(0);
    now += 5_000;
    expect(relay.capacity).toBe(1);
    await relay.rest('relay_auth');
    now += 10_000;
    await relay.rest('relay_auth');
    expect(relay.capacity).toBe(0);
    expect(told.slice(1)).toEqual(['relay_auth 10000', 'relay_auth 20000']);
    relay.works();
    expect(relay.capacity).toBe(10);
  });

  test('rests all the same when that could not be stored, and the next fault stores it', async () => {
    let now = 1_000;
    const told: number[] = [];
    const relay = new Relay({
      connections: 10,
      pause: async (_reason, pauseMs) => {
        told.push(pauseMs);
        if (told.length === 1) throw new Error('the database is away');
      },
      monotonic: () => now,
    });
    await expect(relay.rest('relay_auth')).rejects.toThrow('away');
    expect(relay.capacity).toBe(0);
    now += 1_000;
    await Promise.all([relay.rest('relay_auth'), relay.rest('relay_auth')]);
    expect(told).toEqual([5_000, 4_000]);
  });

  test('that has rested wakes whoever waits to send', async () => {
    let now = 1_000;
    let wakes = 0;
    vi.useFakeTimers();
    try {
      const relay = new Relay({
        connections: 10,
        pause: async () => undefined,
        monotonic: () => now,
        onRested: () => {
          wakes += relay.capacity;
        },
      });
      await relay.rest('relay_auth');
      now += 5_010;
      await vi.advanceTimersByTimeAsync(5_010);
      expect(wakes).toBe(1);
      await relay.rest('relay_auth');
      relay.works();
      await vi.advanceTimersByTimeAsync(60_000);
      expect(wakes).toBe(1);
    } finally {
      vi.useRealTimers();
    }
  });
});
