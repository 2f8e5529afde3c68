import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startProcess } from './support/processes.js';

const root = fileURLToPath(new URL('..', import.meta.url));
let project: string;

beforeEach(async () => {
  project = await mkdtemp(path.join(tmpdir(), 'ghost-prove-'));
  for (const folder of ['scripts', 'test/prove', 'test/dist/test/prove']) {
    await mkdir(path.join(project, folder), { recursive: true });
  }
  await writeFile(path.join(project, 'package.json'), '{"type": "module"}');
  await copyFile(`${root}/scripts/prove.mjs`, path.join(project, 'scripts/prove.mjs'));
});

afterEach(() => rm(project, { recursive: true, force: true }));

async function proof(name: string, code: string): Promise<void> {
  await writeFile(path.join(project, 'test/prove', `${name}.prove.ts`), '');
  await writeFile(path.join(project, 'test/dist/test/prove', `${name}.prove.js`), code);
}

async function prove(...args: string[]) {
  const entry = path.join(project, 'scripts/prove.mjs');
  const run = await startProcess({ name: 'prove', entry, args });
  const { code } = await run.exited;
  return { code, lastLine: run.lines().at(-1), text: run.lines().join('\n') };
}

const rows = (ok: boolean) =>
  `export const name = 'It is fast';
   export async function* run() {
     yield { what: 'jobs per second', figure: '3,412', bound: '≥ 3,000', ok: true };
     yield { what: 'memory', figure: '61 MB', bound: '≤ 50 MB', ok: ${ok} };
   }`;

test('prints a row for each figure and counts them', async () => {
  await proof('speed', rows(true));
  const ended = await prove();
  expect(ended).toMatchObject({ code: 0, lastLine: '2 passed, 0 failed' });
  expect(ended.text).toMatch(/It is fast\n {2}ok +jobs per second +3,412 +≥ 3,000\n {2}ok +memory/);
});

test('fails for a figure beyond its bound', async () => {
  await proof('speed', rows(false));
  const ended = await prove();
  expect(ended).toMatchObject({ code: 1, lastLine: '1 passed, 1 failed' });
  expect(ended.text).toMatch(/FAILED +memory +61 MB +≤ 50 MB/);
});

test('goes on after a proof that throws, gives no row or does not load', async () => {
  await proof(
    'a',
    `export const name = 'a'; export const run = () => { throw new Error('boo'); };`,
  );
  await proof('b', `export const name = 'b'; export const run = () => [];`);
  await proof('c', `import './missing.js';`);
  await proof('d', rows(true));
  expect(await prove()).toMatchObject({ code: 1, lastLine: '2 passed, 3 failed' });
});

test('runs only those that are named, and says so when none is', async () => {
  await proof('a-slow', `export const name = 'a'; export const run = () => [];`);
  await proof('speed', rows(true));
  expect(await prove('spe')).toMatchObject({ code: 0, lastLine: '2 passed, 0 failed' });
  const none = await prove('nothing');
  expect(none).toMatchObject({ code: 1, lastLine: '0 passed, 1 failed' });
  expect(none.text).toContain('There are: a-slow, speed.');
});
