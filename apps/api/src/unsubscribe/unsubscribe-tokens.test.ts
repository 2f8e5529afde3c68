import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { keyRingOf } from '../../../../test/support/key-ring-of.js';
import { UnsubscribeTokens } from './unsubscribe-tokens.js';

const entry = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;

function tokensOf(...entries: string[]): UnsubscribeTokens {
  return new UnsubscribeTokens({ keyRing: keyRingOf(entries.join(',')) });
}

const claim = { threadId: 300, accountId: 100_000 };

describe('a token', () => {
  test('tells the thread and the account that it was made for, whatever their ids', () => {
    const tokens = tokensOf(entry('a'));
    const id = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
    fc.assert(
      fc.property(id, id, (threadId, accountId) => {
        const token = tokens.sign({ threadId, accountId });
        expect(tokens.verify(token)).toEqual({ threadId, accountId });
      }),
    );
  });

  test('is short, fit for a URL, and the same each time', () => {
    const tokens = tokensOf(entry('a'));
    expect(tokens.sign(claim)).toMatch(/^[A-Za-z0-9_-]{28}$/u);
    expect(tokens.sign(claim)).toBe(tokens.sign(claim));
  });

  test('works as long as its key is in the ring, and with no other', () => {
    const [older, newer] = [entry('older'), entry('newer')];
    const token = tokensOf(older).sign(claim);
    expect(tokensOf(newer, older).verify(token)).toEqual(claim);
    expect(tokensOf(newer).verify(token)).toBeNull();
    expect(tokensOf(newer, older).sign(claim)).toBe(tokensOf(newer).sign(claim));
  });

  test('is void when any bit of it is changed', () => {
    const tokens = tokensOf(entry('a'));
    const token = Buffer.from(tokens.sign(claim), 'base64url');
    for (let bit = 0; bit < token.length * 8; bit += 1) {
      const changed = Buffer.from(token);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(tokens.verify(changed.toString('base64url'))).toBeNull();
    }
  });

  test('is void when it is cut, empty, padded or written otherwise', () => {
    const tokens = tokensOf(entry('a'));
    const token = tokens.sign(claim);
    const bytes = Buffer.from(token, 'base64url');
    const others = [
      '',
      token.slice(0, -1),
      `${token}A`,
      `${token}==`,
      ` ${token}`,
      bytes.toString('hex'),
      bytes.subarray(0, 16).toString('base64url'),
      'A'.repeat(200),
    ];
    for (const other of others) expect(tokens.verify(other)).toBeNull();
  });
});
