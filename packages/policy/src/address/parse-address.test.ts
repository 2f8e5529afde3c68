import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isAddress, parseAddress } from './parse-address.js';

describe('parseAddress', () => {
  test.each([
    ['1.2.3.4', [1, 2, 3, 4]],
    ['::', Array.from({ length: 16 }, () => 0)],
    ['2001:DB8::1', [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]],
    ['::ffff:1.2.3.4', [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 1, 2, 3, 4]],
    ['1:2:3:4:5:6:7::', [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 0]],
  ])('reads %s into its bytes', (text, bytes) => {
    expect(parseAddress(text)).toEqual({ ok: true, bytes: Uint8Array.from(bytes) });
  });

  test.each([
    '',
    ' 1.1.1.1',
    '1.1.1.1 ',
    '1.1.1',
    '1.1.1.1.1',
    '01.1.1.1',
    '1.1.1.256',
    '1.1.1.-1',
    '+1.1.1.1',
    '1e0.1.1.1',
    '0x1.1.1.1',
    '١.1.1.1',
    '[::1]',
    ':::',
    ':1',
    '1:',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '::12345',
    '::g',
    '::1.2.3',
    '1.2.3.4::',
    '::1.2.3.4:5',
    '::ffff:01.2.3.4',
  ])('finds %j malformed', (text) => {
    expect(parseAddress(text)).toEqual({ ok: false, reason: 'malformed_address' });
  });

  test('names a zone id', () => {
    expect(parseAddress('fe80::1%eth0')).toEqual({ ok: false, reason: 'zone_id' });
    expect(parseAddress('2600::1%25eth0')).toEqual({ ok: false, reason: 'zone_id' });
  });

  test('agrees with the platform on any text made of the characters of addresses', () => {
    const piece = fc.constantFrom(
      '0',
      '1',
      'f',
      '25',
      '255',
      '256',
      'ffff',
      '7f00',
      '.',
      ':',
      '::',
    );
    const text = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join('')),
    );
    fc.assert(
      fc.property(text, (input) => {
        expect(isAddress(input)).toBe(isIP(input) !== 0);
      }),
      { numRuns: 3_000 },
    );
  });
});
