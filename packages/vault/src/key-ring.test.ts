import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { generateKeyEntry, parseKeyRing } from './key-ring.js';

const KEY = Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64');
const OTHER = Buffer.from('vutsrqponmlkjihgfedcba9876543210').toString('base64');

function faultsOf(text: string): string[] {
  const parsed = parseKeyRing(text);
  return parsed.ok ? [] : parsed.faults;
}

describe('parseKeyRing', () => {
  test('the first key is the active one, the others are kept for reading', () => {
    const parsed = parseKeyRing(` 2026-b:${KEY}, 2025_a:${OTHER}\n`);
    expect(parsed.ok && parsed.ring.activeId).toBe('2026-b');
    expect(parsed.ok && [...parsed.ring.keys.keys()]).toEqual(['2026-b', '2025_a']);
  });

  test('takes what generateKeyEntry makes, new each time', () => {
    const entries = [generateKeyEntry('a'), generateKeyEntry('b')];
    expect(parseKeyRing(entries.join(',')).ok).toBe(true);
    expect(entries[0]?.slice(2)).not.toBe(entries[1]?.slice(2));
    expect(() => generateKeyEntry('a.b')).toThrow(TypeError);
  });

  test.each([
    ['', 'holds no key'],
    ['  ', 'holds no key'],
    [KEY, 'entry 1 is not id:key'],
    [`a:b:${KEY}`, 'entry 1 is not id:key'],
    [`:${KEY}`, 'entry 1 has an id'],
    [`${KEY}:a`, 'entry 1 has an id'],
    [`a.b:${KEY}`, 'entry 1 has an id'],
    ['a:', 'entry 1 has a key of 0 bytes'],
    [`a:${KEY.slice(0, 40)}`, 'entry 1 has a key of 30 bytes'],
    [`a:${KEY.replace('=', '')}`, 'entry 1 has a key that is not base64'],
    [`a:${Buffer.alloc(32, 0xfb).toString('base64url')}`, 'entry 1 has a key that is not base64'],
    [`a:${'0'.repeat(64)}`, 'entry 1 has a key of 48 bytes'],
    [`a:${Buffer.alloc(32).toString('base64')}`, 'entry 1 has a key of one repeated byte'],
    [`a:${KEY},`, 'entry 2 is empty'],
    [`a:${KEY},a:${OTHER}`, 'entry 2 has the id of an entry before it'],
    [`a:${KEY},b:${KEY}`, 'entry 2 has the key of an entry before it'],
  ])('%#: %j is a fault', (text, fault) => {
    expect(faultsOf(text)).toHaveLength(1);
    expect(faultsOf(text)[0]).toContain(fault);
  });

  test('reports every fault, and never a piece of a key', () => {
    const faults = faultsOf(`${KEY},a:${KEY}x,${OTHER}:b,c:${KEY.slice(4)}`);
    expect(faults.map((fault) => fault.slice(0, 7))).toEqual(
      [1, 2, 3, 4].map((position) => `entry ${position}`),
    );
    const said = faults.join(' ');
    for (const secret of [KEY, OTHER]) {
      for (let at = 0; at + 6 <= secret.length; at += 1) {
        expect(said).not.toContain(secret.slice(at, at + 6));
      }
    }
  });

  test('a ring that is logged shows no key', () => {
    const parsed = parseKeyRing(`a:${KEY}`);
    const shown = inspect(parsed, { depth: 9, showHidden: true }) + JSON.stringify(parsed);
    expect(shown).toContain('activeId');
    expect(shown).not.toContain(KEY.slice(0, 8));
    expect(shown).not.toContain('0123456789');
    expect(shown).not.toContain('30 31 32 33');
  });
});
