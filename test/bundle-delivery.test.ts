import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { REPOSITORY } from './support/ghost-processes.js';

const SCRIPT = path.join(REPOSITORY, 'scripts/bundle-delivery.mjs');

function bundleInto(folder: string): void {
  const run = spawnSync(process.execPath, [SCRIPT, folder], { encoding: 'utf8' });
  expect(run.stderr).toBe('');
  expect(run.status).toBe(0);
}

test('a bundle made anew leaves the parts of the one before, which may still run, and no others', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'ghost-bundle-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  bundleInto(folder);
  const list = path.join(folder, 'files.json');
  const { current } = JSON.parse(readFileSync(list, 'utf8')) as { current: string[] };
  expect(current).toContain('main.js');
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(current));

  // As if the build before had made a part that this one does not.
  for (const name of ['part-OLD.js', 'stray.js']) writeFileSync(path.join(folder, name), '');
  writeFileSync(list, JSON.stringify({ current: [...current, 'part-OLD.js'], previous: [] }));
  const changedAt = statSync(path.join(folder, 'main.js')).mtimeMs;
  bundleInto(folder);
  // The same program again is no new one.
  bundleInto(folder);
  const names = readdirSync(folder);
  expect(names).toContain('part-OLD.js');
  expect(names).not.toContain('stray.js');
  expect(statSync(path.join(folder, 'main.js')).mtimeMs).toBe(changedAt);
});
