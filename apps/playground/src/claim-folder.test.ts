import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { claimFolder, MARKER_FILE } from './claim-folder.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'ghost-claim-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function place(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}

const names = async () => (await readdir(folder, { recursive: true })).toSorted();

describe('claiming a folder', () => {
  test('makes and marks a new one, and takes it again with whatever came into it', async () => {
    folder = path.join(folder, 'a', 'b');
    await claimFolder(folder);
    expect(await names()).toEqual([MARKER_FILE]);
    await place({ 'logs/x.log': 'x', notes: 'mine' });
    await claimFolder(folder);
    expect(await names()).toContain('notes');
  });

  test('takes an empty one, and one where another start was a moment earlier', async () => {
    await place({ 'playground.lock': '{}' });
    await claimFolder(folder);
    expect(await names()).toContain(MARKER_FILE);
  });

  test.each([
    [{ 'logs/app.log': 'x', 'mails/a.eml': 'x', 'keys/id_rsa': 'x', 'postgres/PG_VERSION': '18' }],
    [{ keys: 'k1:c2VjcmV0' }],
    [{ 'demo.json': '{"name":"a demo"}' }],
    [{ 'demo.json': 'null' }],
    [{ 'demo.json': '{"tok' }],
    [{ 'playground.lock': '{}', 'postgres/notes': 'x' }],
    [{ notes: 'x' }],
  ])('refuses one of somebody else, %j, and leaves it as it is', async (files) => {
    await place(files);
    const before = await names();
    const claim = claimFolder(folder);
    await expect(claim).rejects.toThrow(/holds what the playground did not make .*--dir FOLDER/u);
    await expect(claim).rejects.toMatchObject({ exitCode: 1 });
    expect(await names()).toEqual(before);
  });

  test.each([
    [{ keys: 'playground:c2VjcmV0', 'logs/api.log': '' }],
    [{ 'demo.json': '{"tokens":{},"secrets":{},"receiverPort":4000,"watched":[]}' }],
    [{ 'demo-0a1b2c3d.json': '{"tokens":{},"secrets":{},"receiverPort":null}' }],
    [{ 'playground.lock': '{}', 'postgres/PG_VERSION': '18' }],
  ])('knows one of a version without the marker, %j', async (files) => {
    await place(files);
    await claimFolder(folder);
    expect(await names()).toContain(MARKER_FILE);
  });
});
