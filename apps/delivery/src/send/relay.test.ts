import { describe, expect, test, vi } from 'vitest';

import { relayPauseMs } from '../rules/relay-pause.js';
import { Relay, type RelayOptions } from './relay.js';

describe('the relay', () => {
  /** A relay of a worker that is the only one, or after so many faults of others. */
  function relayAt(options: Partial<RelayOptions> & { others?: number } = {}) {
    const at = { now: 1_000 };
    const told: string[] = [];
    const lines: string[] = [];
    let failures = options.others ?? 0;
    const relay = new Relay({
      connections: 10,
      pause: async (reason) => {
        told.push(reason);
        failures += 1;
        return { failures, pauseMs: relayPauseMs(failures) };
      },
      monotonic: () => at.now,
      onRest: (reason, pauseMs, count) => void lines.push(`${reason} ${pauseMs} ${count}`),
      ...options,
    });
    return { relay, at, told, lines };
  }

  test('rests longer after each fault, once a batch, and is probed by one mail', async () => {
    const { relay, at, told, lines } = relayAt();
    expect(relay.capacity).toBe(10);
    await Promise.all([
      relay.rest('relay_auth'),
      relay.rest('relay_auth'),
      relay.rest('relay_auth'),
    ]);
    expect(told).toEqual(['relay_auth']);
    expect(relay.capacity).toBe(0);
    at.now += 5_000;
    expect(relay.capacity).toBe(1);
    await relay.rest('relay_auth');
    at.now += 10_000;
    await relay.rest('relay_auth');
    expect(relay.capacity).toBe(0);
    expect(lines).toEqual(['relay_auth 5000 1', 'relay_auth 10000 2', 'relay_auth 20000 3']);
    relay.works();
    expect(relay.capacity).toBe(10);
  });

  test('rests as long as the faults of other workers tell', async () => {
    const { relay, at, lines } = relayAt({ others: 3 });
    await relay.rest('relay_auth');
    expect(lines).toEqual(['relay_auth 40000 4']);
    at.now += 39_999;
    expect(relay.capacity).toBe(0);
    at.now += 1;
    expect(relay.capacity).toBe(1);
  });

  test('that answers while its rest is stored does not rest', async () => {
    const { relay } = relayAt();
    const storing = relay.rest('relay_auth');
    relay.works();
    await storing;
    expect(relay.capacity).toBe(10);
  });

  test('rests all the same when that could not be stored, and the next fault stores it', async () => {
    let tries = 0;
    const { relay, at, lines } = relayAt({
      pause: async () => {
        tries += 1;
        if (tries === 1) throw new Error('the database is away');
        return { failures: 1, pauseMs: 4_000 };
      },
    });
    await expect(relay.rest('relay_auth')).rejects.toThrow('away');
    expect(relay.capacity).toBe(0);
    at.now += 1_000;
    await Promise.all([relay.rest('relay_auth'), relay.rest('relay_auth')]);
    expect(tries).toBe(2);
    expect(lines).toEqual(['relay_auth 5000 1']);
    expect(relay.pauseMs).toBe(4_000);
  });

  test('that has rested wakes whoever waits to send', async () => {
    let wakes = 0;
    vi.useFakeTimers();
    try {
      const { relay, at } = relayAt({
        onRested: () => {
          wakes += relay.capacity;
        },
      });
      await relay.rest('relay_auth');
      at.now += 5_010;
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
