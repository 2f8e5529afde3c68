#!/usr/bin/env node
// All static checks, in order of what they cost. Each runs even if one before failed.

import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

const installed = (file) => path.join(root, 'node_modules', file);
const STEPS = [
  {
    name: 'format',
    what: 'Biome',
    args: [installed('@biomejs/biome/bin/biome'), 'ci', '--colors=off', '--reporter=concise', '.'],
    hint: 'npm run format',
  },
  {
    name: 'types',
    what: 'tsc -b, tests included',
    args: [installed('typescript/bin/tsc'), '-b', '--pretty', 'false'],
  },
  {
    name: 'openapi',
    what: 'apps/api/openapi.json is what the API serves',
    args: ['scripts/openapi.mjs', '--check'],
    hint: 'npm run openapi',
  },
  {
    name: 'lint',
    what: 'oxlint: rules and walls',
    args: [installed('oxlint/bin/oxlint'), '-c', 'oxlint.config.mjs', '--format', 'unix'],
  },
  { name: 'walls', what: 'planted imports and cycles', args: ['scripts/check-walls.mjs'] },
  { name: 'unused', what: 'knip', args: [installed('knip/bin/knip.js'), '--no-progress'] },
  { name: 'migrations', what: 'order and drizzle-kit', args: ['scripts/check-migrations.mjs'] },
];

const wanted = process.argv.slice(2);
if (wanted.includes('--help')) {
  console.log(`Usage: npm run check [-- STEP...]

Runs all static checks, or only the named ones, and exits with 1 if any failed:
${STEPS.map(({ name, what }) => `  ${name.padEnd(12)}${what}`).join('\n')}`);
  process.exit(0);
}
const unknown = wanted.filter((name) => !STEPS.some((step) => step.name === name));
if (unknown.length > 0) {
  console.error(
    `No such check: ${unknown.join(', ')}. There are: ${STEPS.map(({ name }) => name).join(', ')}.`,
  );
  process.exit(1);
}

const failures = [];
for (const step of STEPS) {
  if (wanted.length > 0 && !wanted.includes(step.name)) continue;
  const start = performance.now();
  const run = spawnSync(process.execPath, step.args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: MAX_OUTPUT_BYTES,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ok = run.status === 0;
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${step.name.padEnd(12)}${step.what} (${seconds} s)`);
  if (ok) continue;
  const end = run.error?.message ?? (run.signal === null ? '' : `Ended by ${run.signal}.`);
  failures.push({ ...step, output: [run.stdout, run.stderr, end].join('').trim() });
  // Whoever pressed Ctrl-C wants no further checks.
  if (run.signal === 'SIGINT') break;
}

for (const { name, output, hint } of failures) {
  console.log(`\n${name}:\n${output}`);
  if (hint !== undefined) console.log(`To mend it: ${hint}`);
}
if (failures.length > 0) {
  console.log(`\nFailed: ${failures.map(({ name }) => name).join(', ')}.`);
  process.exitCode = 1;
}
