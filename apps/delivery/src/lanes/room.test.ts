import { expect, test } from 'vitest';

import { roomBeside } from './room.js';

type Sending = Parameters<typeof roomBeside>[0] extends Iterable<infer S> ? S : never;

const job = (more: Partial<Sending['claimed']>, bytes = 0): Sending => ({
  claimed: { kind: 'webhook', slow: false, ownerId: null, host: null, ...more },
  bytes,
});

const PLENTY = { most: 1_000_000, mean: 1 };

test('with empty hands all slots are free, a third of them for lanes without a recent success', () => {
  expect(roomBeside([], 'webhook', 200, PLENTY)).toEqual({
    jobs: 200,
    slowJobs: 66,
    shares: { ownerMost: 50, hostMost: 50, owners: {}, hosts: {} },
  });
});

test('what is being sent takes its room: of its owner, its host and of slow lanes', () => {
  const sending = [
    job({ slow: true, ownerId: 7, host: 'a.example' }),
    job({ ownerId: 7, host: 'b.example' }),
    job({ slow: true }),
    job({ kind: 'email' }),
  ];
  expect(roomBeside(sending, 'webhook', 8, PLENTY)).toEqual({
    jobs: 5,
    slowJobs: 0,
    shares: {
      ownerMost: 2,
      hostMost: 50,
      owners: { 7: 2 },
      hosts: { 'a.example': 1, 'b.example': 1 },
    },
  });
});

test('a process with one slot may still send to a slow lane, and nobody has less than nothing', () => {
  expect(roomBeside([], 'webhook', 1, PLENTY)).toMatchObject({
    slowJobs: 1,
    shares: { ownerMost: 1 },
  });
  expect(roomBeside([job({ slow: true }), job({})], 'webhook', 1, PLENTY)).toMatchObject({
    jobs: 0,
    slowJobs: 0,
  });
});

test('a host whose name objects have by themselves is counted like any other', () => {
  const sending = ['constructor', '__proto__', '__proto__'].map((host) => job({ host }));
  const { hosts } = roomBeside(sending, 'webhook', 8, PLENTY).shares;
  expect(JSON.stringify(hosts)).toBe('{"constructor":1,"__proto__":2}');
});

test('bulk mail of all domains has half of the connections', () => {
  const mail = (host: string | null) => job({ host, kind: 'email' });
  const sending = [mail(':bulk'), mail(':bulk'), mail(null)];
  expect(roomBeside(sending, 'email', 10, PLENTY)).toMatchObject({
    jobs: 7,
    shares: { hostMost: 5, hosts: { ':bulk': 2 } },
  });
  expect(roomBeside([], 'email', 1, PLENTY)).toMatchObject({ jobs: 1, shares: { hostMost: 1 } });
});

test('the bytes that are left have room for so many jobs, and for one at least', () => {
  const bytes = { most: 1_000, mean: 100 };
  const jobs = (...held: number[]) =>
    roomBeside(
      held.map((size) => job({}, size)),
      'webhook',
      50,
      bytes,
    ).jobs;
  expect(jobs()).toBe(10);
  expect(jobs(250, 400)).toBe(3);
  expect(jobs(999)).toBe(1);
  expect(jobs(1_000)).toBe(0);
  expect(jobs(700, 700)).toBe(0);
  // Larger than all that there is: with an empty hand it goes.
  expect(roomBeside([], 'webhook', 50, { most: 1_000, mean: 5_000 })).toMatchObject({
    jobs: 1,
    slowJobs: 1,
  });
  // What mails take is theirs.
  expect(roomBeside([job({ kind: 'email' }, 5_000)], 'webhook', 50, bytes).jobs).toBe(10);
});

test('lanes without a recent success have a third of the bytes, and one owner a quarter', () => {
  const bytes = { most: 1_200, mean: 100 };
  const sending = [
    job({ slow: true, ownerId: 7 }, 299),
    job({ ownerId: 8 }, 300),
    job({ kind: 'email', slow: true, ownerId: 7 }, 1_000),
  ];
  const room = roomBeside(sending, 'webhook', 100, bytes);
  expect(room).toMatchObject({ jobs: 6, slowJobs: 1 });
  // As if all that it may have were in flight.
  expect(room.shares).toMatchObject({ ownerMost: 25, owners: { 7: 1, 8: 25 } });
  const full = [...sending, job({ slow: true }, 101)];
  expect(roomBeside(full, 'webhook', 100, bytes)).toMatchObject({ jobs: 5, slowJobs: 0 });
});
