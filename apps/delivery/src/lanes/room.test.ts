import { expect, test } from 'vitest';

import { roomBeside } from './room.js';

const job = (
  more: Partial<Parameters<typeof roomBeside>[0] extends Iterable<infer J> ? J : never>,
) => ({
  kind: 'webhook' as const,
  slow: false,
  ownerId: null,
  host: null,
  ...more,
});

test('with empty hands all slots are free, a third of them for lanes without a recent success', () => {
  expect(roomBeside([], 'webhook', 200)).toEqual({
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
    { ...job({}), kind: 'email' as const },
  ];
  expect(roomBeside(sending, 'webhook', 8)).toEqual({
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
  expect(roomBeside([], 'webhook', 1)).toMatchObject({ slowJobs: 1, shares: { ownerMost: 1 } });
  expect(roomBeside([job({ slow: true }), job({})], 'webhook', 1)).toMatchObject({
    jobs: 0,
    slowJobs: 0,
  });
});

test('a host whose name objects have by themselves is counted like any other', () => {
  const sending = ['constructor', '__proto__', '__proto__'].map((host) => job({ host }));
  const { hosts } = roomBeside(sending, 'webhook', 8).shares;
  expect(JSON.stringify(hosts)).toBe('{"constructor":1,"__proto__":2}');
});

test('bulk mail of all domains has half of the connections', () => {
  const mail = (host: string | null) => ({ ...job({ host }), kind: 'email' as const });
  const sending = [mail(':bulk'), mail(':bulk'), mail(null)];
  expect(roomBeside(sending, 'email', 10)).toMatchObject({
    jobs: 7,
    shares: { hostMost: 5, hosts: { ':bulk': 2 } },
  });
  expect(roomBeside([], 'email', 1)).toMatchObject({ jobs: 1, shares: { hostMost: 1 } });
});
