import { createCipheriv } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decrypt, encrypt, keyIdOf, needsRotation, reencrypt } from './envelope.js';
import { generateKeyEntry, parseKeyRing } from './key-ring.js';
import { VaultError } from './vault-error.js';

const [OLD, NEW] = [generateKeyEntry('old'), generateKeyEntry('new')];
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const ROW = { row: 'hook_secret:42', purpose: 'signing-secret' };

function ringOf(...entries: string[]) {
  const parsed = parseKeyRing(entries.join(','));
  if (!parsed.ok) throw new Error(parsed.faults.join());
  return parsed.ring;
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof VaultError) return error.code;
    throw error;
  }
  return 'opened';
}

const ring = ringOf(OLD);

describe('an envelope', () => {
  test('opens with its ring and context, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(decrypt(ring, encrypt(ring, text, ROW), ROW)).toBe(text);
      }),
    );
    expect(decrypt(ring, encrypt(ring, '', ROW), ROW)).toBe('');
  });

  test('is one line of ASCII that names its key and never repeats', () => {
    const envelopes = Array.from({ length: 100 }, () => encrypt(ring, SECRET, ROW));
    expect(new Set(envelopes).size).toBe(100);
    // An IV used twice under one key would give the key of the authentication away.
    expect(new Set(envelopes.map((envelope) => envelope.split('.')[2])).size).toBe(100);
    for (const envelope of envelopes) expect(envelope).toMatch(/^v1\.old\.[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(keyIdOf(envelopes[0] ?? '')).toBe('old');
  });

  test('refuses text that would not come back', () => {
    expect(() => encrypt(ring, 'a\ud800', ROW)).toThrow(TypeError);
  });
});

describe('an envelope that is not as it was sealed does not open', () => {
  const envelope = encrypt(ring, SECRET, ROW);
  const [version, id, iv = '', ciphertext = '', tag = ''] = envelope.split('.');
  const joined = (...parts: unknown[]) => parts.join('.');

  test('moved to another row or purpose', () => {
    expect(codeOf(() => decrypt(ring, envelope, { ...ROW, row: 'hook_secret:43' }))).toBe(
      'tampered',
    );
    expect(codeOf(() => decrypt(ring, envelope, { ...ROW, purpose: 'custom-headers' }))).toBe(
      'tampered',
    );
    const swapped = { row: ROW.purpose, purpose: ROW.row };
    expect(codeOf(() => decrypt(ring, envelope, swapped))).toBe('tampered');
    const slid = { row: '2', purpose: 'signing-secret","hook_secret:4' };
    expect(codeOf(() => decrypt(ring, envelope, slid))).toBe('tampered');
  });

  test('with any byte changed', () => {
    for (const [part, at] of [
      [iv, 2],
      [ciphertext, 3],
      [tag, 4],
    ] as const) {
      const bytes = Buffer.from(part, 'base64url');
      for (let index = 0; index < bytes.length; index += 1) {
        const changed = Buffer.from(bytes);
        changed[index] = (changed[index] ?? 0) ^ 0x80;
        const parts = envelope.split('.').with(at, changed.toString('base64url'));
        expect(codeOf(() => decrypt(ring, parts.join('.'), ROW))).toBe('tampered');
      }
    }
  });

  test('under a key of the same id and other material', () => {
    expect(codeOf(() => decrypt(ringOf(generateKeyEntry('old')), envelope, ROW))).toBe('tampered');
  });

  test('relabelled with another key of the ring, even one of the same material', () => {
    const twin = OLD.replace('old:', 'twin:');
    const relabelled = joined(version, 'twin', iv, ciphertext, tag);
    expect(codeOf(() => decrypt(ringOf(twin), relabelled, ROW))).toBe('tampered');
  });

  test('with its tag cut to the 4 bytes that Node 20 would take', () => {
    const key = ring.keys.get('old');
    if (key === undefined) throw new Error('the ring has its key');
    const cipher = createCipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url'), {
      authTagLength: 4,
    });
    cipher.setAAD(Buffer.from(JSON.stringify(['ghost-vault-v1', 'old', ROW.purpose, ROW.row])));
    const forged = Buffer.concat([cipher.update(SECRET, 'utf8'), cipher.final()]);
    expect(forged.toString('base64url')).toBe(ciphertext);
    const shortTag = cipher.getAuthTag().toString('base64url');
    expect(tag.startsWith(shortTag.slice(0, 5))).toBe(true);
    expect(codeOf(() => decrypt(ring, joined(version, id, iv, ciphertext, shortTag), ROW))).toBe(
      'malformed',
    );
  });

  test.each([
    '',
    SECRET,
    'v1....',
    joined('v2', id, iv, ciphertext, tag),
    joined(version, id, iv, ciphertext),
    joined(version, id, iv, ciphertext, tag, ''),
    joined(version, id, iv.slice(4), ciphertext, tag),
    joined(version, '', iv, ciphertext, tag),
    `${envelope}\n`,
    ` ${envelope}`,
    `${envelope}=`,
    joined(version, id, iv, `${ciphertext}AA`, tag),
    // spare bits of the last character set
    joined(version, id, iv, ciphertext, tag.replace(/.$/, 'B')),
  ])('%#: not an envelope', (text) => {
    expect(codeOf(() => decrypt(ring, text, ROW))).toBe('malformed');
    expect(codeOf(() => needsRotation(ring, text))).toBe('malformed');
  });

  test('no error tells the secret or a key', () => {
    for (const attempt of [
      () => decrypt(ring, envelope, { ...ROW, row: 'x' }),
      () => decrypt(ringOf(NEW), envelope, ROW),
      () => decrypt(ring, SECRET, ROW),
    ]) {
      expect(attempt).toThrow(VaultError);
      for (const hidden of [SECRET, OLD.slice(4, 14), NEW.slice(4, 14)]) {
        expect(attempt).not.toThrow(hidden);
      }
    }
  });
});

describe('rotation', () => {
  const before = encrypt(ring, SECRET, ROW);

  test('a new active key reads the old envelopes and seals them anew', () => {
    const both = ringOf(NEW, OLD);
    expect(decrypt(both, before, ROW)).toBe(SECRET);
    expect(needsRotation(both, before)).toBe(true);
    const after = reencrypt(both, before, ROW);
    expect(keyIdOf(after)).toBe('new');
    expect(needsRotation(both, after)).toBe(false);
    expect(decrypt(ringOf(NEW), after, ROW)).toBe(SECRET);
  });

  test('an envelope under the active key is left alone', () => {
    expect(reencrypt(ring, before, ROW)).toBe(before);
  });

  test('without the old key its envelopes name it', () => {
    expect(codeOf(() => decrypt(ringOf(NEW), before, ROW))).toBe('unknown_key');
    expect(() => reencrypt(ringOf(NEW), before, ROW)).toThrow(/"old" is not in GHOST_SECRET_KEYS/);
  });

  test('does not mend an envelope that was moved', () => {
    expect(codeOf(() => reencrypt(ringOf(NEW, OLD), before, { ...ROW, row: 'x' }))).toBe(
      'tampered',
    );
  });
});
