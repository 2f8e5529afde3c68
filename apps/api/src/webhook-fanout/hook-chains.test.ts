import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { keyRingOf } from '../../../../test/support/key-ring-of.js';
import { UnsubscribeTokens } from '../unsubscribe/unsubscribe-tokens.js';
import { HookChains, MAX_CHAIN_HOOKS } from './hook-chains.js';

const entry = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
const RING = keyRingOf(entry('a'));
const NOW = new Date('2026-11-30T12:00:00.400Z');
const CHAIN = { repositoryId: 9, hookIds: [3, 12] };

const chains = (keyRing = RING) => new HookChains({ keyRing });
const after = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);

test('a chain tells its repository and its hooks in their order, whatever their ids', () => {
  const id = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
  const ids = fc.array(id, { minLength: 1, maxLength: MAX_CHAIN_HOOKS });
  fc.assert(
    fc.property(id, ids, (repositoryId, hookIds) => {
      const text = chains().write({ repositoryId, hookIds }, NOW);
      expect(text).toMatch(/^[\w-]{1,200}$/u);
      expect(chains().read(text, NOW)).toEqual({ repositoryId, hookIds });
    }),
  );
});

test('a chain is good for an hour, and for clocks that differ by a minute', () => {
  const text = chains().write(CHAIN, NOW);
  expect(chains().read(text, after(3600))).toEqual(CHAIN);
  expect(chains().read(text, after(3601))).toBeNull();
  expect(chains().read(text, after(-60))).toEqual(CHAIN);
  expect(chains().read(text, after(-62))).toBeNull();
});

test('a chain is good while its key is in the ring', () => {
  const [older, newer] = [entry('older'), entry('newer')];
  const text = chains(keyRingOf(older)).write(CHAIN, NOW);
  expect(chains(keyRingOf(`${newer},${older}`)).read(text, NOW)).toEqual(CHAIN);
  expect(chains(keyRingOf(newer)).read(text, NOW)).toBeNull();
});

test('nothing else is a chain: not one that was changed in any bit, nor a token for something else', () => {
  const text = chains().write(CHAIN, NOW);
  const bytes = Buffer.from(text, 'base64url');
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(chains().read(changed.toString('base64url'), NOW)).toBeNull();
  }
  const unsubscribe = new UnsubscribeTokens({ keyRing: RING });
  const seconds = Math.floor(NOW.getTime() / 1000);
  const others = [
    '',
    '12',
    'null',
    `${text}, ${text}`,
    ` ${text}`,
    'A'.repeat(10_000),
    unsubscribe.sign({ threadId: seconds, accountId: 9 }),
    chains().write({ repositoryId: 9, hookIds: [] }, NOW),
    chains().write({ repositoryId: 9, hookIds: Array(MAX_CHAIN_HOOKS + 1).fill(1) }, NOW),
  ];
  for (const other of others) expect(chains().read(other, NOW)).toBeNull();
});
