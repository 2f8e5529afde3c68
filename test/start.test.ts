import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type RunningProcess, startProcess } from './support/processes.js';
import { waitUntil } from './support/wait-until.js';

const root = fileURLToPath(new URL('..', import.meta.url));
/** A playground that says which signals come, and ends with 7 after SIGTERM. */
const PLAYGROUND = `
  process.on('SIGINT', () => console.log('SIGINT came'));
  process.on('SIGTERM', () => { console.log('SIGTERM came'); process.exit(7); });
  console.log('playing ' + process.pid + ' ' + process.argv.slice(2).join(','));
  if (process.argv[2] === '--end') process.exit(Number(process.argv[3]));
  setInterval(() => {}, 1000);`;

const LOCK = 'node_modules/.ghost-build.lock';

let project: string;

/** A project of its own with the true start script, and a compiler, a bundler and a playground of ours. */
beforeEach(async () => {
  project = await mkdtemp(path.join(tmpdir(), 'ghost-start-'));
  const folders = ['scripts', 'node_modules/typescript/bin', 'apps/playground/dist'];
  for (const folder of folders) await mkdir(path.join(project, folder), { recursive: true });
  await copyFile(`${root}/scripts/start.mjs`, path.join(project, 'scripts/start.mjs'));
  const dist = `${root}apps/playground/dist/end-with-parent.js`;
  await copyFile(dist, path.join(project, 'apps/playground/dist/end-with-parent.js'));
  await write('package.json', '{"type": "module", "engines": {"node": ">=20.19"}}');
  await write('node_modules/typescript/package.json', '{}');
  await write('node_modules/typescript/bin/tsc', '');
  await write('scripts/bundle-delivery.mjs', '');
  await write('apps/playground/dist/main.js', PLAYGROUND);
});

afterEach(() => rm(project, { recursive: true, force: true }));

const write = (name: string, text: string) => writeFile(path.join(project, name), text);

const start = (...args: string[]) =>
  startProcess({ name: 'start', entry: path.join(project, 'scripts/start.mjs'), args });

const cameTo = (started: RunningProcess, signal: string) =>
  started.lines().filter((line) => line === `${signal} came`).length;

test('hands arguments to the playground, and its exit code back', async () => {
  const started = await start('--end', '3');
  expect(await started.exited).toEqual({ code: 3, signal: null });
  expect(started.lines()).toContainEqual(expect.stringMatching(/^playing \d+ --end,3$/));
});

test('passes one Ctrl-C on once, though it comes from the terminal and from npm', async () => {
  const started = await start();
  await started.waitForLine(/playing/);
  // The terminal signals the whole group; npm, one of it, then signals us again.
  process.kill(-started.pid, 'SIGINT');
  await started.waitForLine(/SIGINT came/);
  process.kill(started.pid, 'SIGINT');
  expect(await started.stop()).toEqual({ code: 7, signal: null });
  expect(cameTo(started, 'SIGINT')).toBe(1);
  expect(cameTo(started, 'SIGTERM')).toBe(1);
});

test('stops the playground in good order when it is killed itself', async () => {
  const started = await start();
  const line = await started.waitForLine(/playing/);
  const playground = Number(line.split(' ')[1]);
  await started.kill9();
  await waitUntil(() => !runs(playground), { what: 'the end of the playground' });
});

test('shows what the bundler says, and starts nothing', async () => {
  const bundler = `console.error('Could not resolve "gone"'); process.exitCode = 1;`;
  await write('scripts/bundle-delivery.mjs', bundler);
  const started = await start();
  expect((await started.exited).code).toBe(1);
  expect(started.lines().join('\n')).toContain('Could not resolve "gone"');
  expect(started.lines().join('\n')).not.toContain('playing');
});

test('shows what the compiler says, and starts nothing', async () => {
  const compiler = `console.log('main.ts(1,1): error TS1'); process.exitCode = 2;`;
  await write('node_modules/typescript/bin/tsc', compiler);
  const started = await start();
  expect(await started.exited).toEqual({ code: 1, signal: null });
  expect(started.lines().join('\n')).toMatch(/error TS1\n+The build failed/);
});

test('is not held up by the lock of a build that died, though its pid lives on as another', async () => {
  // As in a container, where every start has the same pid.
  await write(
    'scripts/again.mjs',
    `import { writeFileSync } from 'node:fs';
     writeFileSync('${project}/${LOCK}', String(process.pid));
     await import('./start.mjs');`,
  );
  const entry = path.join(project, 'scripts/again.mjs');
  const again = await startProcess({ name: 'start', entry, args: ['--end', '3'] });
  expect(await again.exited).toEqual({ code: 3, signal: null });

  await write(LOCK, String(process.pid));
  const hourAgo = new Date(Date.now() - 3_600_000);
  await utimes(path.join(project, LOCK), hourAgo, hourAgo);
  expect(await (await start('--end', '3')).exited).toEqual({ code: 3, signal: null });
});

test('builds one after the other when several are started at once', async () => {
  // Leaves a file behind when it meets another of its kind.
  await write(
    'node_modules/typescript/bin/tsc',
    `const { closeSync, openSync, rmSync, writeFileSync } = require('node:fs');
     try { closeSync(openSync('building', 'wx')); } catch { writeFileSync('met', ''); }
     for (const end = Date.now() + 300; Date.now() < end; );
     rmSync('building', { force: true });`,
  );
  const started = await Promise.all([1, 2, 3].map(() => start('--end', '3')));
  for (const { exited } of started) expect(await exited).toEqual({ code: 3, signal: null });
  expect(existsSync(path.join(project, 'met'))).toBe(false);
  expect(started.flatMap((one) => one.lines()).join('\n')).toContain('after the build of another');
});

test('says that packages are missing, or Node is too old', async () => {
  await rm(path.join(project, 'node_modules'), { recursive: true });
  const bare = await start();
  expect(await bare.exited).toEqual({ code: 1, signal: null });
  expect(bare.lines().join('\n')).toContain('Run `npm ci` first');
  await write('package.json', '{"type": "module", "engines": {"node": ">=99.1"}}');
  const old = await start();
  expect(await old.exited).toEqual({ code: 1, signal: null });
  expect(old.lines().join('\n')).toContain(
    `Node 99.1 or newer is needed; this is ${process.versions.node}`,
  );
});

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
