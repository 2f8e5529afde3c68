import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { readOrMakeKeys } from './key-file.js';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'ghost-keys-'));
  file = path.join(folder, 'keys');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('makes a key once and keeps it', async () => {
  const made = await readOrMakeKeys(file);
  expect(made).toMatch(/^playground:/u);
  expect(await readOrMakeKeys(file)).toBe(made);
});

test.each(['', 'playground:short', 'no key at all'])(
  'names the file when it holds "%s", and no variable that nobody set',
  async (content) => {
    await writeFile(file, content);
    const read = readOrMakeKeys(file);
    await expect(read).rejects.toThrow(`key file ${file} cannot be used: `);
    await expect(read).rejects.not.toThrow('GHOST_SECRET_KEYS');
    await expect(read).rejects.toMatchObject({ exitCode: 78 });
  },
);
