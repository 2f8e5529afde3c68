import { BlockList } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_POLICY, parseAddressPolicy, type RawAddressPolicy } from '../address-policy.js';
import { IPV4_REFUSED } from './address-ranges.js';
import { checkAddress, checkAnswers } from './check-address.js';
import { explainRefusal } from '../explain-refusal.js';

function policyOf(raw: RawAddressPolicy) {
  const parsed = parseAddressPolicy(raw);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  return parsed.policy;
}

describe('checkAddress names why', () => {
  test.each([
    ['127.0.0.1', 'loopback'],
    ['::1', 'loopback'],
    ['0.0.0.0', 'unspecified'],
    ['::', 'unspecified'],
    ['10.0.0.1', 'private'],
    ['fd12::1', 'private'],
    ['100.64.0.1', 'cgnat'],
    ['169.254.1.1', 'link_local'],
    ['fe80::1', 'link_local'],
    ['169.254.169.254', 'metadata'],
    ['168.63.129.16', 'metadata'],
    ['100.100.100.200', 'metadata'],
    ['fd00:ec2::254', 'metadata'],
    ['239.1.1.1', 'multicast'],
    ['ff02::1', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['2001:2::1', 'reserved'],
    ['203.0.113.9', 'documentation'],
    ['2001:db8::1', 'documentation'],
    ['5f00::1', 'not_global_unicast'],
    ['::ffff:8.8.8.8', 'embedded_ipv4'],
    ['64:ff9b::8.8.8.8', 'embedded_ipv4'],
    ['2002:808:808::1', 'embedded_ipv4'],
    ['2001:0:808:808::', 'embedded_ipv4'],
    ['2a00:1450::5efe:7f00:1', 'embedded_ipv4'],
    ['2600::1%eth0', 'zone_id'],
    ['localhost', 'malformed_address'],
  ] as const)('%s: %s', (address, reason) => {
    expect(checkAddress(address, DEFAULT_POLICY)).toEqual({ allowed: false, reason });
    expect(explainRefusal(reason).what).not.toBe('');
  });
});

describe("the operator's ranges", () => {
  test('allowCidrs lifts exactly its ranges, loopback and metadata too', () => {
    const policy = policyOf({ allowCidrs: '127.0.0.0/8, fd00:ec2::254' });
    expect(checkAddress('127.9.9.9', policy).allowed).toBe(true);
    expect(checkAddress('fd00:ec2::254', policy).allowed).toBe(true);
    expect(checkAddress('128.0.0.1', policy).allowed).toBe(true);
    expect(checkAddress('10.0.0.1', policy).allowed).toBe(false);
    expect(checkAddress('fd00:ec2::23', policy).allowed).toBe(false);
    expect(checkAddress('::1', policy).allowed).toBe(false);
    expect(checkAddress('::ffff:127.0.0.1', policy).allowed).toBe(false);
  });

  test('a rule with a port lifts that port alone, and nothing while the port is unknown', () => {
    const policy = policyOf({ allowCidrs: '10.1.0.0/16:8080,[fd12::/16]:9000' });
    expect(checkAddress('10.1.2.3', policy, 8080).allowed).toBe(true);
    expect(checkAddress('10.1.2.3', policy, 8081).allowed).toBe(false);
    expect(checkAddress('10.1.2.3', policy).allowed).toBe(false);
    expect(checkAddress('fd12::1', policy, 9000).allowed).toBe(true);
    expect(checkAddress('fd12::1', policy, 80).allowed).toBe(false);
  });

  test('denyCidrs wins over allowCidrs and over public space', () => {
    const policy = policyOf({
      allowCidrs: '10.0.0.0/8',
      denyCidrs: '10.0.0.0/24,8.8.0.0/16,2600::/16',
    });
    for (const address of ['10.0.0.1', '8.8.8.8', '2600::1']) {
      expect(checkAddress(address, policy)).toEqual({ allowed: false, reason: 'operator_denied' });
    }
    expect(checkAddress('10.0.1.1', policy).allowed).toBe(true);
  });

  test.each(['::ffff:8.8.8.8', '::8.8.8.8', '64:ff9b::8.8.8.8', '2002:808:808::1'])(
    'a denied range stays denied inside %s, however wide the allowed one',
    (address) => {
      const policy = policyOf({ allowCidrs: '::/1', denyCidrs: '8.8.8.0/24' });
      expect(checkAddress(address, policy)).toEqual({ allowed: false, reason: 'operator_denied' });
    },
  );

  test('NAT64 is judged by the IPv4 address in it, and no exception for IPv4 leaks into it', () => {
    const policy = policyOf({ allowNat64: true, allowCidrs: '127.0.0.0/8', denyCidrs: '9.9.9.9' });
    expect(checkAddress('64:ff9b::8.8.8.8', policy).allowed).toBe(true);
    expect(checkAddress('64:ff9b::7f00:1', policy)).toEqual({ allowed: false, reason: 'loopback' });
    expect(checkAddress('64:ff9b::a9fe:a9fe', policy).allowed).toBe(false);
    expect(checkAddress('64:ff9b::9.9.9.9', policy).allowed).toBe(false);
    expect(checkAddress('64:ff9b:1::808:808', policy).allowed).toBe(false);
  });
});

describe('checkAnswers', () => {
  test('one refused address refuses all and is named for the log', () => {
    const verdict = checkAnswers(['93.184.215.14', '10.0.0.1'], DEFAULT_POLICY);
    expect(verdict).toEqual({ allowed: false, reason: 'private', address: '10.0.0.1' });
  });

  test('an empty answer is no answer', () => {
    expect(checkAnswers([], DEFAULT_POLICY)).toEqual({
      allowed: false,
      reason: 'no_answer',
      address: null,
    });
  });

  test('a host that the operator vouches for may be private, never loopback, metadata or denied', () => {
    const policy = policyOf({ allowHosts: 'ci.internal,*.corp.example', denyCidrs: '10.9.0.0/16' });
    const ask = (host: string, ...addresses: string[]) =>
      checkAnswers(addresses, policy, { host, port: 443 }).allowed;
    expect(ask('ci.internal', '10.0.0.1', 'fd12::1', '100.64.0.1', '8.8.8.8')).toBe(true);
    expect(ask('a.b.corp.example', '192.168.1.1')).toBe(true);
    expect(ask('corp.example', '192.168.1.1')).toBe(false);
    expect(ask('evilcorp.example', '192.168.1.1')).toBe(false);
    expect(ask('x.ci.internal', '10.0.0.1')).toBe(false);
    const never = ['127.0.0.1', '::1', '169.254.169.254', '100.100.100.200', 'fd00:ec2::254'];
    for (const address of [...never, '0.0.0.0', 'fe80::1', '::ffff:10.0.0.1', '10.9.0.1']) {
      expect(ask('ci.internal', '10.0.0.1', address)).toBe(false);
    }
  });

  test('nor may it lead by NAT64 to a private address: no exception for IPv4 holds there', () => {
    const policy = policyOf({ allowHosts: 'ci.internal', allowNat64: true });
    const target = { host: 'ci.internal', port: 443 };
    for (const address of ['64:ff9b::10.0.0.1', '64:ff9b::100.64.0.1']) {
      expect(checkAnswers([address], policy, target).allowed).toBe(false);
    }
    expect(checkAnswers(['10.0.0.1', '64:ff9b::8.8.8.8'], policy, target).allowed).toBe(true);
  });

  test('the port of the target meets the port of the rule', () => {
    const policy = policyOf({ allowCidrs: '127.0.0.1:8080' });
    expect(checkAnswers(['127.0.0.1'], policy, { host: 'x.example', port: 8080 }).allowed).toBe(
      true,
    );
    expect(checkAnswers(['127.0.0.1'], policy, { host: 'x.example', port: 80 }).allowed).toBe(
      false,
    );
  });
});

test('the verdict on any IPv4 address is that of an independent implementation of the table', () => {
  const oracle = new BlockList();
  for (const { range } of IPV4_REFUSED) {
    oracle.addSubnet(range.bytes.join('.'), range.prefix, 'ipv4');
  }
  const nearRange = fc
    .tuple(fc.constantFrom(...IPV4_REFUSED), fc.constantFrom(-1, 0, 1), fc.boolean())
    .map(([{ range }, step, end]) => {
      const first = new DataView(range.bytes.buffer).getUint32(0);
      const edge = end ? first + 2 ** (32 - range.prefix) - 1 : first;
      const value = Math.min(2 ** 32 - 1, Math.max(0, edge + step));
      return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
    });
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), nearRange), (address) => {
      expect(checkAddress(address, DEFAULT_POLICY).allowed).toBe(!oracle.check(address, 'ipv4'));
    }),
    { numRuns: 5_000 },
  );
});
