#!/usr/bin/env node
// Runs the proofs of test/prove and prints what each measured beside what was promised.

import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = path.join(root, 'test/prove');
const compiled = path.join(root, 'test/dist/test/prove');
const SUFFIX = '.prove.ts';

const args = process.argv.slice(2);
if (args.includes('--help')) {
  console.log(`Usage: npm run prove [-- NAME...]

Runs the slow proofs: those whose file name holds one of the NAMEs, or all. Prints a row for each
measured figure (what, figure, bound, ok), and \`N passed, N failed\` as the last line. Exit code 1
if a figure misses its bound, or a proof throws or gives no row.

A proof is a file test/prove/<name>.prove.ts, compiled by \`tsc -b\` (npm run prove does that):

  export const name = 'What it proves, in a line';
  export async function* run() {
    yield { what: 'jobs enqueued per second', figure: '3,412', bound: '≥ 3,000', ok: true };
  }

\`run\` returns rows as an array, an iterable or an async iterable, or a promise of an array; it stops
what it started, also when it throws. Outside of Vitest, \`createTestDatabase\` takes the server that
\`startTestServer\` (test/support) returns. Proofs run one after the other.`);
  process.exit(0);
}

const names = proofNames().filter(
  (name) => args.length === 0 || args.some((arg) => name.includes(arg)),
);
if (names.length === 0) {
  console.error(`No proof is called like that. There are: ${proofNames().join(', ') || 'none'}.`);
}
let passed = 0;
let failed = names.length === 0 ? 1 : 0;
for (const name of names) await prove(name);
console.log(`\n${passed} passed, ${failed} failed`);
// A handle that a proof forgot must not keep a finished run alive.
process.exit(failed === 0 ? 0 : 1);

function proofNames() {
  if (!existsSync(sources)) return [];
  return readdirSync(sources)
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => file.slice(0, -SUFFIX.length))
    .sort();
}

async function prove(name) {
  const start = performance.now();
  let rows = 0;
  console.log(`\n${name}`);
  try {
    const proof = await import(pathToFileURL(path.join(compiled, `${name}.prove.js`)).href);
    if (typeof proof.name !== 'string' || typeof proof.run !== 'function') {
      throw new Error(`test/prove/${name}${SUFFIX} must export \`name\` and \`run\`.`);
    }
    console.log(`  ${proof.name}`);
    for await (const row of await proof.run()) {
      rows++;
      print(row);
    }
    if (rows === 0) throw new Error('It gave no row.');
  } catch (error) {
    failed++;
    console.log(`  FAILED  ${error instanceof Error ? error.stack : String(error)}`);
  }
  console.log(`  (${((performance.now() - start) / 1000).toFixed(1)} s)`);
}

function print({ what, figure, bound, ok }) {
  if (ok === true) passed++;
  else failed++;
  const verdict = ok === true ? 'ok    ' : 'FAILED';
  console.log(`  ${verdict}  ${what.padEnd(60)}  ${String(figure).padStart(16)}  ${bound}`);
}
