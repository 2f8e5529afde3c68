import { randomBytes, randomUUID } from 'node:crypto';

import { expect, test } from 'vitest';

import { bounceAddress, jobOfBounceAddress } from './bounce-address.js';
import { type KeyRing, parseKeyRing } from './key-ring.js';

const entry = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;

function ringOf(...entries: string[]): KeyRing {
  const parsed = parseKeyRing(entries.join(','));
  if (!parsed.ok) throw new Error('No key ring');
  return parsed.ring;
}

test('a return path leads back to its job, whatever became of its case', () => {
  const ring = ringOf(entry('a'));
  for (let n = 0; n < 200; n += 1) {
    const id = randomUUID();
    const address = bounceAddress(ring, id, 'bounces.example');
    expect(address).toMatch(/^b-[a-z2-7]{52}@bounces\.example$/u);
    expect(jobOfBounceAddress(ring, address)).toBe(id);
    expect(jobOfBounceAddress(ring, address.toUpperCase())).toBe(id);
    expect(bounceAddress(ring, id, 'bounces.example')).toBe(address);
  }
});

test('is known as long as its key is in the ring', () => {
  const [older, newer] = [entry('older'), entry('newer')];
  const address = bounceAddress(ringOf(older), randomUUID(), 'x.example');
  expect(jobOfBounceAddress(ringOf(newer, older), address)).not.toBeNull();
  expect(jobOfBounceAddress(ringOf(newer), address)).toBeNull();
});

test('one that was changed, cut, or made by anybody else is none', () => {
  const ring = ringOf(entry('a'));
  const address = bounceAddress(ring, randomUUID(), 'x.example');
  const [local = ''] = address.split('@');
  for (let place = 2; place < local.length; place += 1) {
    const other = local[place] === 'a' ? 'b' : 'a';
    const changed = `${local.slice(0, place)}${other}${local.slice(place + 1)}@x.example`;
    expect(jobOfBounceAddress(ring, changed)).toBeNull();
  }
  for (const none of [
    '',
    '@',
    local,
    `${local}a@x`,
    `${local.slice(0, -1)}@x`,
    'b-@x',
    `c${address}`,
  ]) {
    expect(jobOfBounceAddress(ring, none)).toBeNull();
  }
  expect(() => bounceAddress(ring, 'x', 'x.example')).toThrow('uuid');
});
