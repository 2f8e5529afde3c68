import { describe, expect, test } from 'vitest';
import { DEFAULT_POLICY, parseAddressPolicy } from './address-policy.js';

describe('parseAddressPolicy', () => {
  test('nothing set, or blank, is the default', () => {
    expect(parseAddressPolicy({})).toEqual({ ok: true, policy: DEFAULT_POLICY });
    expect(
      parseAddressPolicy({ allowCidrs: ' ', denyCidrs: '', ports: '', allowHosts: '' }),
    ).toEqual({ ok: true, policy: DEFAULT_POLICY });
  });

  test('reads each form of each list', () => {
    const parsed = parseAddressPolicy({
      allowCidrs: '10.0.0.0/8, 192.0.2.7:8080, [fd00::/8]:443, [fd00::1], fd12::/16',
      denyCidrs: '::/0',
      allowHosts: 'CI.internal, *.Bücher.example',
      ports: '80, 8000-8999',
      allowNat64: true,
      httpsOnly: true,
    });
    expect(parsed).toMatchObject({
      ok: true,
      policy: {
        allowCidrs: [
          { range: { prefix: 8 }, port: null },
          { range: { prefix: 32 }, port: 8080 },
          { range: { prefix: 8 }, port: 443 },
          { range: { prefix: 128 }, port: null },
          { range: { prefix: 16 }, port: null },
        ],
        denyCidrs: [{ prefix: 0 }],
        allowHosts: [
          { kind: 'exact', name: 'ci.internal' },
          { kind: 'suffix', name: 'xn--bcher-kva.example' },
        ],
        ports: [
          { from: 80, to: 80 },
          { from: 8000, to: 8999 },
        ],
        allowNat64: true,
        httpsOnly: true,
      },
    });
  });

  test('reports all faults together, each with its entry', () => {
    const parsed = parseAddressPolicy({
      allowCidrs: '10.0.0.0/8,10.0.0.0/33,nonsense',
      denyCidrs: '10.0.0.0/8:80',
      allowHosts: '*',
      ports: '80,0',
    });
    expect(parsed.ok ? [] : parsed.faults.map(({ field, entry }) => [field, entry])).toEqual([
      ['allowCidrs', '10.0.0.0/33'],
      ['allowCidrs', 'nonsense'],
      ['denyCidrs', '10.0.0.0/8:80'],
      ['allowHosts', '*'],
      ['ports', '0'],
    ]);
  });

  test.each([
    ['allowCidrs', '10.1.2.3/8'],
    ['allowCidrs', '0.0.0.0/0'],
    ['allowCidrs', '::/0'],
    ['allowCidrs', '10.0.0.0/8,'],
    ['allowCidrs', '10.0.0.0/8 192.168.0.0/16'],
    ['allowCidrs', '10.0.0.0/8:0'],
    ['allowCidrs', '10.0.0.0/8:65536'],
    ['allowCidrs', '10.0.0.0/08'],
    ['allowCidrs', '10.0.0.0/-1'],
    ['allowCidrs', 'fe80::1%eth0'],
    ['allowCidrs', '127.1'],
    ['allowCidrs', '*'],
    ['allowCidrs', 'ci.internal'],
    ['denyCidrs', 'fd00::/129'],
    ['allowHosts', '*.'],
    ['allowHosts', 'a.*.example'],
    ['allowHosts', '10.0.0.1'],
    ['allowHosts', '[::1]'],
    ['allowHosts', '0x7f.1'],
    ['allowHosts', 'https://ci.internal'],
    ['allowHosts', 'ci.internal:8080'],
    ['allowHosts', 'ci.internal.'],
    ['allowHosts', 'localhost'],
    ['allowHosts', '*.localhost'],
    ['allowHosts', 'metadata.google.internal'],
    ['ports', '443,http'],
    ['ports', '9000-8000'],
    ['ports', '80-90-100'],
    ['ports', '65536'],
  ] as const)('%s %j is a fault', (field, text) => {
    expect(parseAddressPolicy({ [field]: text })).toMatchObject({ ok: false, faults: [{ field }] });
  });
});
