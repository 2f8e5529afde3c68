import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { encrypt } from './envelope.js';
import { hookHeadersContext, openHookHeaders, sealHookHeaders } from './hook-headers.js';
import { hookSecretContext } from './hook-secret-context.js';
import { generateKeyEntry, parseKeyRing } from './key-ring.js';
import { VaultError } from './vault-error.js';

const VALUE = 'Bearer of-nobody-else';

function ringOf(entry: string) {
  const parsed = parseKeyRing(entry);
  if (!parsed.ok) throw new Error(parsed.faults.join());
  return parsed.ring;
}
const ring = ringOf(generateKeyEntry('old'));

function faultOf(run: () => unknown): VaultError {
  try {
    run();
  } catch (error) {
    if (error instanceof VaultError) return error;
  }
  throw new Error('It opened');
}

describe('custom headers at rest', () => {
  test('open as they were given, in their order, names in lower case', () => {
    const headers = [
      ['X-B', '2'],
      ['Authorization', VALUE],
      ['__proto__', 'x'],
      ['x-empty', ''],
    ] as const;
    const opened = openHookHeaders(ring, 7, sealHookHeaders(ring, 7, headers));
    expect(opened).toEqual([
      ['x-b', '2'],
      ['authorization', VALUE],
      ['__proto__', 'x'],
      ['x-empty', ''],
    ]);
  });

  test('whatever the values', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.stringMatching(/^[a-z-]+$/), fc.string())), (headers) => {
        expect(openHookHeaders(ring, '7', sealHookHeaders(ring, 7, headers))).toEqual(headers);
      }),
    );
  });

  test('show neither names nor values', () => {
    const sealed = sealHookHeaders(ring, 7, [['authorization', VALUE]]);
    expect(sealed).toMatch(/^v1\.old\.[\w.-]+$/u);
    const text = Buffer.from(sealed.split('.')[3] ?? '', 'base64url').toString('latin1');
    expect(text).not.toMatch(/authorization|Bearer/u);
  });

  test('do not open as those of another hook, nor a secret of the hook as its headers', () => {
    const sealed = sealHookHeaders(ring, 7, [['authorization', VALUE]]);
    expect(faultOf(() => openHookHeaders(ring, 8, sealed)).code).toBe('tampered');
    const secret = encrypt(ring, '[["authorization","x"]]', hookSecretContext(7));
    expect(faultOf(() => openHookHeaders(ring, 7, secret)).code).toBe('tampered');
    const other = ringOf(generateKeyEntry('new'));
    expect(faultOf(() => openHookHeaders(other, 7, sealed)).code).toBe('unknown_key');
  });

  test.each(['', 'nothing', '{}', '[1]', '[["a"]]', '[["a",1]]', '[["a","b","c"]]'])(
    'what holds no pairs is malformed, and not told: %j',
    (text) => {
      const fault = faultOf(() =>
        openHookHeaders(ring, 7, encrypt(ring, text, hookHeadersContext(7))),
      );
      expect(fault.code).toBe('malformed');
      expect(fault.message).toBe('hook_headers of 7 are no list of names and values');
    },
  );
});
