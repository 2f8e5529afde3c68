import { describe, expect, test } from 'vitest';

import { addressIn, ClientAddresses, trustsProxies } from './client-addresses.js';

const PROXY = '127.0.0.1';

function addresses() {
  const warnings: unknown[] = [];
  const made = new ClientAddresses({ warn: (fields: unknown) => void warnings.push(fields) });
  const from = (ip: string) => ({ ip, socket: { remoteAddress: PROXY } }) as never;
  return {
    warnings,
    of: (ip: string) => made.of(from(ip)),
    networkOf: (ip: string) => made.networkOf(from(ip)),
  };
}

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['192.0.2.1:4123', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['[::ffff:192.0.2.1]:80', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
  ['[2001:db8:1:2::9]', '2001:db8:1:2::'],
  ['[2001:db8:1:2::1]:443', '2001:db8:1:2::'],
  ['fe80::1%eth0', 'fe80::'],
  ['unknown', PROXY],
])('%s counts as %s', (ip, network) => {
  expect(addresses().networkOf(ip)).toBe(network);
});

test.each([
  '',
  'unknown',
  '_hidden',
  '192.0.2.1:',
  '192.0.2.1:x',
  '192.0.2',
  '[192.0.2.1',
  '[]:80',
])('there is no address in "%s"', (entry) => {
  expect(addressIn(entry)).toBeNull();
});

test('what a trusted proxy says without it being an address is told once, and cut', () => {
  const { of, warnings } = addresses();
  expect(of('192.0.2.1:4123')).toBe('192.0.2.1');
  expect(warnings).toEqual([]);
  expect(of('x'.repeat(8000))).toBe(PROXY);
  expect(of('unknown')).toBe(PROXY);
  expect(warnings).toEqual([{ event: 'api.forwarded_for_unreadable', said: 'x'.repeat(60) }]);
});

describe('which hops are trusted', () => {
  const trusts = trustsProxies(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', '::1']);

  test.each([
    '10.9.8.7',
    '10.9.8.7:555',
    '::ffff:10.9.8.7',
    '192.0.2.7',
    '2001:db8:ffff::1',
    '[2001:db8::1]:443',
    '::1',
  ])('%s', (hop) => {
    expect(trusts(hop)).toBe(true);
  });

  test.each([
    '11.0.0.1',
    '192.0.2.8',
    '2001:db9::1',
    '::2',
    'unknown',
    '10.9.8.7.evil.example',
    '',
  ])('not "%s"', (hop) => {
    expect(trusts(hop)).toBe(false);
  });
});
