import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { KEPT_BODY_BYTES, storedBody, storedHead } from './stored-response.js';

describe('a kept body', () => {
  test('is storable and at most 16 KiB, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40_000, size: 'max' }), (bytes) => {
        const text = storedBody(bytes);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(KEPT_BODY_BYTES);
        expect(text).not.toContain('\0');
        expect(text.isWellFormed()).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  test('keeps UTF-8 as it is and marks other bytes', () => {
    expect(storedBody(Buffer.from('grüße 🎉\n'))).toBe('grüße 🎉\n');
    expect(storedBody(Buffer.from('caf\xe9', 'latin1'))).toBe('caf\uFFFD');
    expect(storedBody(Buffer.from('caf\xe9!', 'latin1'))).toBe('caf\uFFFD!');
    expect(storedBody(Buffer.from('a\0b'))).toBe('a\uFFFDb');
  });

  test('is not cut inside a character', () => {
    const body = Buffer.from(`a${'é'.repeat(KEPT_BODY_BYTES)}`);
    expect(storedBody(body)).toMatch(/^aé+$/u);
    const latin1 = Buffer.alloc(KEPT_BODY_BYTES, 0xe9);
    expect(storedBody(latin1)).toMatch(/^\uFFFD+$/u);
    expect(Buffer.byteLength(storedBody(latin1))).toBeGreaterThan(KEPT_BODY_BYTES - 4);
  });
});

describe('a kept head', () => {
  test('joins repeated fields, hides credentials and the paths of redirects', () => {
    expect(
      storedHead([
        ['Content-Type', 'text/plain'],
        ['X-Two', 'a'],
        ['x-two', 'b'],
        ['Set-Cookie', 'session=secret'],
        ['Location', 'https://u:p@other.example:8443/hook/SECRET?token=T'],
      ]),
    ).toEqual({
      'content-type': 'text/plain',
      'x-two': 'a, b',
      'set-cookie': '[redacted]',
      location: 'https://other.example:8443/…',
    });
    expect(storedHead([['location', '/hook/SECRET/']])['location']).not.toContain('SECRET');
    expect(storedHead([['location', '//other.example/SECRET']])['location']).not.toContain(
      'SECRET',
    );
    expect(storedHead([['location', 'javascript:alert(1)']])['location']).not.toContain('alert');
  });

  test('survives odd names and bytes', () => {
    const head = storedHead([
      ['__proto__', 'x'],
      ['constructor', 'y'],
      ['x-odd', 'a\0b\ud800'],
    ]);
    expect(Object.keys(head)).toEqual(['__proto__', 'constructor', 'x-odd']);
    expect(JSON.parse(JSON.stringify(head))['x-odd']).toBe('a\uFFFDb\uFFFD');
  });
});
