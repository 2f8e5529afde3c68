import { LanesLockedError, type Settled, type Settlement } from '@ghost/queue';
import { pino } from 'pino';
import { expect, test } from 'vitest';

import { DatabaseState } from './database-state.js';
import { Settler } from './settler.js';
import { gate } from '../../../../test/support/gate.js';

const coded = (code: string) => Object.assign(new Error('no'), { code });

function settlement(id: string, bodyExcerpt = 'fine', lane = 'hook:1'): Settlement {
  return {
    id,
    leaseNo: 1,
    lane,
    version: 1,
    outcome: 'delivered',
    reason: null,
    charged: true,
    delayMs: 0,
    attempt: { startedAt: '2026-11-29T12:00:00.000Z', bodyExcerpt },
  };
}

const NO_DAYS_TO_MAKE = async () => undefined;

/** A settler over statements that answer as a test says. */
function settlerOf(
  settle: (settlements: readonly Settlement[]) => Promise<Settled[]>,
  prepareHistory: () => Promise<void> = NO_DAYS_TO_MAKE,
  now = () => 0,
) {
  const lines: Record<string, unknown>[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const settler = new Settler({
    queue: { settle, release: async () => 0, prepareHistory },
    database: new DatabaseState(log, () => performance.now()),
    now,
    log,
  });
  return { settler, lines };
}

const settledAll = (settlements: readonly Settlement[]): Settled[] =>
  settlements.map(({ id, leaseNo }) => ({ id, leaseNo, status: 'delivered' }));

test('an outcome that is refused after an outage holds up nobody', async () => {
  let tries = 0;
  const { settler, lines } = settlerOf(async () => {
    tries += 1;
    throw coded(tries === 1 ? 'ECONNREFUSED' : '22021');
  });
  const settled = settler.settle(settlement('a'));
  await expect(settled).resolves.toBeNull();
  await settler.writable();
  expect(lines.map(({ event }) => event)).toContain('delivery.settle_given_up');
});

test('one bad outcome among many is the only one that loses its texts', async () => {
  const texts = new Map<string, string | undefined>();
  const { settler } = settlerOf(async (settlements) => {
    if (settlements.some(({ attempt }) => attempt?.bodyExcerpt === 'bad')) throw coded('22P05');
    for (const { id, attempt } of settlements) texts.set(id, attempt?.bodyExcerpt);
    return settledAll(settlements);
  });
  const ids = Array.from({ length: 9 }, (_, index) => String(index));
  const settled = await Promise.all(
    ids.map((id) => settler.settle(settlement(id, id === '4' ? 'bad' : 'fine'))),
  );
  expect(settled.every((one) => one?.status === 'delivered')).toBe(true);
  expect(ids.filter((id) => texts.get(id) === undefined)).toEqual(['4']);
});

test('what our own code throws over one outcome is not tried for ever', async () => {
  const { settler } = settlerOf(async (settlements) => {
    if (settlements.some(({ id }) => id === 'odd')) throw new RangeError('Invalid time value');
    return settledAll(settlements);
  });
  const [odd, fine] = await Promise.all([
    settler.settle(settlement('odd')),
    settler.settle(settlement('fine')),
  ]);
  expect({ odd, fine: fine?.status }).toEqual({ odd: null, fine: 'delivered' });
});

test('after its stop each outcome is tried once', async () => {
  let tries = 0;
  const { settler } = settlerOf(async () => {
    tries += 1;
    throw coded('ECONNREFUSED');
  });
  settler.stop();
  await expect(settler.settle(settlement('a'))).resolves.toBeNull();
  expect(tries).toBe(1);
});

test('days ahead that cannot be made hold up one batch, and are tried again after a while', async () => {
  let now = Date.parse('2026-11-30T00:00:01Z');
  const triedAt: number[] = [];
  const { settler } = settlerOf(
    async (settlements) => settledAll(settlements),
    async () => {
      triedAt.push(now);
      if (triedAt.length < 3) throw coded('55P03');
    },
    () => now,
  );
  const startedAt = now;
  for (let minute = 0; minute < 30; minute += 1) {
    await settler.settle(settlement(String(minute)));
    now += 60_000;
  }
  expect(triedAt.map((at) => (at - startedAt) / 60_000)).toEqual([0, 10, 20]);
});

test('outcomes of a lane that somebody holds wait for it alone', async () => {
  let held = true;
  const { settler } = settlerOf(async (settlements) => {
    const locked = held && settlements.some(({ lane }) => lane === 'hook:2');
    if (locked) throw new LanesLockedError(new Set(['hook:2']), coded('55P03'));
    return settledAll(settlements);
  });
  const first = settler.settle(settlement('a', 'fine', 'hook:2'));
  const ended: string[] = [];
  void first.then(() => ended.push('a'));
  const beside = await Promise.all([
    settler.settle(settlement('b')),
    settler.settle(settlement('c')),
  ]);
  expect(beside.map((one) => one?.status)).toEqual(['delivered', 'delivered']);
  const second = settler.settle(settlement('d', 'fine', 'hook:2'));
  await settler.settle(settlement('e'));
  await settler.writable();
  expect(ended).toEqual([]);
  held = false;
  expect((await Promise.all([first, second])).map((one) => one?.id)).toEqual(['a', 'd']);
});

test('an outcome whose job somebody holds, and not its lane, holds up no other', async () => {
  let held = true;
  const { settler } = settlerOf(async (settlements) => {
    if (held && settlements.some(({ id }) => id === '4')) {
      throw new LanesLockedError(new Set(), coded('55P03'));
    }
    return settledAll(settlements);
  });
  const ids = Array.from({ length: 9 }, (_, index) => String(index));
  const settled = ids.map((id) => settler.settle(settlement(id, 'fine', `hook:${id}`)));
  await Promise.all(settled.filter((_, index) => index !== 4));
  held = false;
  expect((await settled[4])?.status).toBe('delivered');
});

test('an outcome that no database takes, of a lane that somebody holds, is written once it is held no more', async () => {
  let held = true;
  const { settler, lines } = settlerOf(async (settlements) => {
    if (settlements.some(({ attempt }) => attempt?.bodyExcerpt !== undefined)) throw coded('22P05');
    if (held) throw new LanesLockedError(new Set(['hook:1']), coded('55P03'));
    return settledAll(settlements);
  });
  const settled = settler.settle(settlement('a', 'bad'));
  await expect.poll(() => lines.map(({ event }) => event)).toContain('delivery.lanes_locked');
  held = false;
  expect((await settled)?.status).toBe('delivered');
});

test('what comes for a lane while it is tried again does not wait for one that is held for good', async () => {
  let triedAgain = (): void => undefined;
  const trying = new Promise<void>((resolve) => {
    triedAgain = resolve;
  });
  let letEnd = (): void => undefined;
  const mayEnd = new Promise<void>((resolve) => {
    letEnd = resolve;
  });
  const batches: string[] = [];
  const { settler } = settlerOf(async (settlements) => {
    const ids = settlements.map(({ id }) => id).join(' ');
    batches.push(ids);
    if (batches.length === 1)
      throw new LanesLockedError(new Set(['hook:1', 'hook:2']), coded('55P03'));
    if (ids === 'held free') {
      triedAgain();
      await mayEnd;
    }
    if (ids.includes('held')) throw new LanesLockedError(new Set(['hook:1']), coded('55P03'));
    return settledAll(settlements);
  });
  void settler.settle(settlement('held', 'fine', 'hook:1'));
  const free = settler.settle(settlement('free', 'fine', 'hook:2'));
  await trying;
  const later = settler.settle(settlement('later', 'fine', 'hook:2'));
  // Of a lane of its own, so written now: what came before it was looked at.
  await settler.settle(settlement('other', 'fine', 'hook:3'));
  letEnd();
  await Promise.all([free, later]);
  expect(batches.filter((ids) => ids.includes('later'))).toEqual(['later']);
  settler.stop();
});

test('what waits for a lane is given up with the process', async () => {
  let tries = 0;
  const { settler, lines } = settlerOf(async () => {
    tries += 1;
    throw new LanesLockedError(new Set(['hook:1']), coded('55P03'));
  });
  const settled = settler.settle(settlement('a'));
  await expect.poll(() => lines.length).toBe(1);
  settler.stop();
  await expect(settled).resolves.toBeNull();
  expect(tries).toBe(2);
});

test('behind a statement that is not answered only so many outcomes come to wait', async () => {
  const answer = gate();
  const { settler } = settlerOf(async (settlements) => {
    await answer.opened;
    return settledAll(settlements);
  });
  const settled: Promise<unknown>[] = [];
  let mayClaim = true;
  for (let claims = 0; mayClaim && claims < 100; claims += 1) {
    for (let n = 0; n < 100; n += 1) settled.push(settler.settle(settlement(`${claims} ${n}`)));
    mayClaim = await Promise.race([
      settler.writable().then(() => true),
      new Promise<false>((resolve) => setImmediate(() => resolve(false))),
    ]);
  }
  expect(settled).toHaveLength(2_500);
  answer.open();
  await settler.writable();
  await Promise.all(settled);
});
