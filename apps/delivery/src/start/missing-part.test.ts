import { pino } from 'pino';
import { expect, test } from 'vitest';

import { endIfPartIsMissing } from './missing-part.js';

function watched() {
  const lines: string[] = [];
  const codes: number[] = [];
  const log = pino({}, { write: (line: string) => lines.push(line) });
  return { lines, codes, loaded: endIfPartIsMissing(log, (code) => codes.push(code)) };
}

test('a part that is not there any more ends the process and says why', async () => {
  const { lines, codes, loaded } = watched();
  const gone: string = './part-that-was-built-anew.js';
  await expect(loaded(import(gone))).rejects.toThrow();
  expect(codes).toEqual([1]);
  expect(lines.join('')).toContain('delivery.part_missing');
});

test('any other failure is passed on, and so is what was loaded', async () => {
  const { codes, loaded } = watched();
  await expect(loaded(Promise.reject(new Error('no database')))).rejects.toThrow('no database');
  expect(await loaded(Promise.resolve('part'))).toBe('part');
  expect(codes).toEqual([]);
});
