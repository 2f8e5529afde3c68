import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkHeader, checkHeaders } from './check-header.js';

function reasonOf(name: string, value: string): string {
  const verdict = checkHeader(name, value);
  return verdict.ok ? 'ok' : verdict.reason;
}

describe('checkHeader', () => {
  test.each([
    ['Authorization', 'Bearer abc'],
    ['x-api-key', 'k'],
    ['X-Custom_Name', 'a b\tc'],
    ['accept', '*/*'],
    ['cookie', 'a=b'],
    ['x-empty', ''],
    ['x-scope', '*'],
  ])('accepts %s: %s', (name, value) => {
    expect(reasonOf(name, value)).toBe('ok');
  });

  test.each([
    ['Host', 'header_name_reserved'],
    ['CONTENT-LENGTH', 'header_name_reserved'],
    ['Connection', 'header_name_reserved'],
    ['X-Ghost-Event', 'header_name_reserved'],
    ['x_ghost_event', 'header_name_reserved'],
    ['webhook-id', 'header_name_reserved'],
    ['Content_Length', 'header_name_reserved'],
    ['proxy-connection', 'header_name_reserved'],
    ['x-forwarded-for', 'header_name_reserved'],
    ['x-hub-signature-256', 'header_name_reserved'],
    ['traceparent', 'header_name_reserved'],
    ['x-http-method-override', 'header_name_reserved'],
    ['__proto__', 'header_name_reserved'],
    ['Expect', 'header_name_reserved'],
    ['transfer-encoding', 'header_name_reserved'],
    ['webhook-anything', 'header_name_reserved'],
    ['X-Ghost-Anything', 'header_name_reserved'],
    ['', 'header_name_malformed'],
    ['x:y', 'header_name_malformed'],
    ['x\r\ny', 'header_name_malformed'],
    ['x-é', 'header_name_malformed'],
    ['x'.repeat(65), 'header_name_too_long'],
  ])('refuses the name %j: %s', (name, reason) => {
    expect(reasonOf(name, 'v')).toBe(reason);
  });

  test.each([
    ['a\rb', 'header_value_malformed'],
    ['a\nb', 'header_value_malformed'],
    ['a\u0000b', 'header_value_malformed'],
    ['a\u007f', 'header_value_malformed'],
    ['é', 'header_value_malformed'],
    [' a', 'header_value_malformed'],
    ['a\t', 'header_value_malformed'],
    ['a\n', 'header_value_malformed'],
    ['x'.repeat(2049), 'header_value_too_long'],
    ['********', 'header_value_mask'],
    ['<secret>', 'header_value_mask'],
    ['Bearer ********', 'header_value_mask'],
  ])('refuses the value %j: %s', (value, reason) => {
    expect(reasonOf('x-a', value)).toBe(reason);
  });

  test('never repeats the value', () => {
    const verdict = checkHeader('x-a', 's3cr3t\n');
    expect(verdict.ok ? '' : verdict.message).toMatch(/^Header "x-a" /);
    expect(JSON.stringify(verdict)).not.toContain('s3cr3t');
  });
});

describe('whatever is given', () => {
  const token = fc.stringMatching(/^x-[a-z0-9]{1,20}$/u).filter((name) => checkHeader(name, '').ok);
  const visible = fc.stringMatching(/^[!-~]{1,40}$/u).filter((value) => checkHeader('x', value).ok);

  test('what is accepted is one field of one line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (name, value) => {
        if (!checkHeader(name, value).ok) return;
        expect(`${name}: ${value}`).toMatch(/^[^\s:]+: [\t -~]*$/u);
      }),
    );
  });

  test('a control character, or one beyond ASCII, is refused wherever it stands', () => {
    const bad = fc.oneof(
      fc.constantFrom('\r', '\n', '\r\n', '\u0000', '\u007f', '\u0085', '\u2028'),
      fc
        .string({ unit: 'binary', minLength: 1, maxLength: 1 })
        .filter((one) => /[^\t -~]/u.test(one)),
    );
    fc.assert(
      fc.property(token, visible, bad, fc.nat(40), (name, value, one, at) => {
        const planted = (text: string) => text.slice(0, at) + one + text.slice(at);
        expect(checkHeader(name, planted(value)).ok).toBe(false);
        expect(checkHeader(planted(name), value).ok).toBe(false);
      }),
    );
  });
});

describe('checkHeaders', () => {
  test('finds nothing in a good list', () => {
    expect(
      checkHeaders([
        ['x-a', '1'],
        ['x-b', '2'],
      ]),
    ).toEqual([]);
  });

  test('reports every fault of the list', () => {
    const faults = checkHeaders([
      ['X-A', '1'],
      ['x-a', '2'],
      ['host', 'h'],
      ['x-b', '\n'],
    ]);
    expect(faults.map(({ name, reason }) => [name, reason])).toEqual([
      ['x-a', 'header_repeated'],
      ['host', 'header_name_reserved'],
      ['x-b', 'header_value_malformed'],
    ]);
  });

  test('bounds number and size', () => {
    const many = Array.from({ length: 21 }, (_, index) => [`x-${index}`, 'v'] as const);
    expect(checkHeaders(many).map(({ reason }) => reason)).toEqual(['headers_too_many']);
    const long = Array.from({ length: 3 }, (_, index) => [`x-${index}`, 'v'.repeat(1500)] as const);
    expect(checkHeaders(long).map(({ reason }) => reason)).toEqual(['headers_too_long']);
  });
});
