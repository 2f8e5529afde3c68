import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
let folder: string;

beforeAll(async () => {
  // Below the project, so that `vitest` is found; in a folder that Git ignores.
  await mkdir(`${root}test/dist`, { recursive: true });
  folder = await mkdtemp(`${root}test/dist/reporter-`);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

interface Run {
  lastLine: string | undefined;
  code: number;
  output: string;
}

/** Runs a Vitest of its own on these files. */
async function run(files: Record<string, string>, extra = ''): Promise<Run> {
  const project = await mkdtemp(`${folder}/run-`);
  const config = `
    import { SummaryReporter } from ${JSON.stringify(`${root}test/reporter.ts`)};
    export default { test: { include: ['*.case.ts'], reporters: ['dot', new SummaryReporter()], ${extra} } };`;
  await writeFile(`${project}/vitest.config.ts`, config);
  for (const [name, text] of Object.entries(files)) await writeFile(`${project}/${name}`, text);
  const args = [`${root}node_modules/vitest/vitest.mjs`, 'run', '--root', project];
  // Both outputs into one file, as in a terminal: two pipes would lose the order.
  const log = await open(`${project}/output.log`, 'w');
  const child = spawn(process.execPath, args, { stdio: ['ignore', log.fd, log.fd] });
  const [code] = (await once(child, 'exit')) as [number];
  await log.close();
  const output = await readFile(`${project}/output.log`, 'utf8');
  return { code, output, lastLine: output.trimEnd().split('\n').at(-1) };
}

const IMPORT = `import { beforeAll, describe, expect, test } from 'vitest';\n`;
const PASS = `${IMPORT}test('a', () => {}); test('b', () => {});`;

test('counts what passed, exit code 0', async () => {
  expect(await run({ 'a.case.ts': PASS })).toMatchObject({
    lastLine: '2 passed, 0 failed',
    code: 0,
  });
});

test('counts what failed and what was skipped', async () => {
  const cases = `${IMPORT}test('a', () => {}); test('b', () => expect(1).toBe(2)); test('c', ({ skip }) => skip('for the reporter to count'));`;
  expect(await run({ 'a.case.ts': cases })).toMatchObject({
    lastLine: '1 passed, 1 failed, 1 skipped',
    code: 1,
  });
});

test('counts a file that does not load', async () => {
  expect(await run({ 'a.case.ts': PASS, 'b.case.ts': `import './missing.js';` })).toMatchObject({
    lastLine: '2 passed, 1 failed',
    code: 1,
  });
});

test('counts a failed setup of a suite', async () => {
  const cases = `${IMPORT}describe('s', () => { beforeAll(() => { throw new Error('no') }); test('a', () => {}) });`;
  expect(await run({ 'a.case.ts': cases })).toMatchObject({
    lastLine: '0 passed, 1 failed, 1 skipped',
    code: 1,
  });
});

test('counts an error that nobody caught', async () => {
  const cases = `${IMPORT}test('a', async () => { void Promise.reject(new Error('loose')); await new Promise((r) => setTimeout(r)); });`;
  expect(await run({ 'a.case.ts': cases })).toMatchObject({
    lastLine: '1 passed, 1 failed',
    code: 1,
  });
});

test.each([
  ['setup', `export const setup = () => { throw new Error('no server') };`, '0 passed, 1 failed'],
  // Vitest only prints a failed teardown: ours sets the exit code.
  ['teardown', `export const teardown = () => { process.exitCode = 1 };`, '2 passed, 1 failed'],
])('counts a failed global %s', async (_name, setup, lastLine) => {
  const files = { 'a.case.ts': PASS, 'setup.ts': setup };
  const ended = await run(files, `globalSetup: ['setup.ts']`);
  expect(ended).toMatchObject({ lastLine, code: 1 });
});

test('counts a run without any test as failed', async () => {
  expect(await run({})).toMatchObject({ lastLine: '0 passed, 1 failed', code: 1 });
});
