import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { MARKER_FILE } from './claim-folder.js';
import { resetFolder } from './reset.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'ghost-reset-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('removes what the playground made, half-made or of another version, and nothing else', async () => {
  for (const name of ['postgres', 'postgres.new', 'mails', 'logs', 'my photos']) {
    await mkdir(path.join(folder, name));
    await writeFile(path.join(folder, name, 'PG_VERSION'), '12\n');
  }
  const files = ['keys', 'keys.new', 'demo.json', 'demo-0a1b2c3d.json', 'demo.json.new', 'notes'];
  for (const name of [...files, MARKER_FILE, 'playground.lock', 'playground.lock.takeover']) {
    await writeFile(path.join(folder, name), 'half a');
  }
  const { removed, left } = await resetFolder(folder);
  expect(left).toEqual(['my photos', 'notes']);
  expect(removed).toHaveLength(9);
  expect((await readdir(folder)).toSorted()).toEqual([
    MARKER_FILE,
    'my photos',
    'notes',
    'playground.lock',
    'playground.lock.takeover',
  ]);
});
