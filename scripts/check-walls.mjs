#!/usr/bin/env node
// Proves that the walls of oxlint.config.mjs hold: in a copy of the sources it plants one forbidden
// import or call for each wall, and cycles, and demands that oxlint complains about every one of
// them, and about nothing that is allowed.

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = ['packages', 'apps', 'test', 'scripts', 'oxlint.config.mjs', 'tsconfig.base.json'];
const NOT_COPIED = new Set(['node_modules', 'dist', '.ghost']);

const IMPORT = 'eslint(no-restricted-imports)';
const CYCLE = 'import(no-cycle)';
const DEFAULT = 'import(no-default-export)';
const PROPERTY = 'eslint(no-restricted-properties)';

/** [folder of the planted file, its text, the rule that must complain; null: none may] */
const PLANTS = [
  // One way: contract ← {signing, policy, vault} ← settings ← db ← queue ← operations ← apps.
  ['packages/contract/src', `import '@ghost/policy';`, IMPORT],
  ['packages/contract/src', `import { request } from 'undici';`, IMPORT],
  ['packages/signing/src', `import '@ghost/vault';`, IMPORT],
  ['packages/policy/src', `import '@ghost/db';`, IMPORT],
  ['packages/policy/src', `import type { Pool } from '@ghost/db';`, IMPORT],
  ['packages/policy/src', `import { resolve4 } from 'node:dns/promises';`, IMPORT],
  ['packages/vault/src', `import '@ghost/settings';`, IMPORT],
  ['packages/settings/src', `import '@ghost/db';`, IMPORT],
  ['packages/db/src', `import '@ghost/queue';`, IMPORT],
  ['packages/queue/src', `export * from '@ghost/operations';`, IMPORT],
  ['packages/operations/src', `import '@ghost/api';`, IMPORT],
  ['packages/operations/src', `import '@ghost/queue';`, null],
  ['packages/queue/src', `import '@ghost/db';`, null],
  ['packages/policy/src', `import '@ghost/contract';`, null],
  // Apps are islands.
  ['apps/api/src', `import '@ghost/delivery';`, IMPORT],
  ['apps/api/src', `export const load = () => import('@ghost/delivery');`, IMPORT],
  ['apps/playground/src', `import '@ghost/api';`, IMPORT],
  ['apps/cli/src', `import '@ghost/playground/postgres';`, IMPORT],
  ['apps/delivery/src', `import '../../api/src/main.js';`, IMPORT],
  ['apps/delivery/src', `import '@ghost/operations';`, null],
  // Borders are crossed by name.
  ['packages/queue/src', `import '../../db/src/index.js';`, IMPORT],
  ['packages/queue/src', `import '../../db/dist/index.js';`, IMPORT],
  ['packages/queue/src', `import '../../../packages/db/src/pool.js';`, IMPORT],
  ['packages/queue/src', `import '@ghost/db/dist/pool.js';`, IMPORT],
  // NestJS in the API alone.
  ['apps/delivery/src', `import { Module } from '@nestjs/common';`, IMPORT],
  ['packages/operations/src', `import 'reflect-metadata';`, IMPORT],
  ['apps/api/src', `import { Module } from '@nestjs/common';`, null],
  // Tables in db alone.
  ['apps/api/src', `import { pgTable } from 'drizzle-orm/pg-core';`, IMPORT],
  ['packages/queue/src', `import { check, index } from 'drizzle-orm/pg-core';`, IMPORT],
  ['packages/db/src', `import { pgTable } from 'drizzle-orm/pg-core';`, null],
  ['apps/api/src', `import { alias } from 'drizzle-orm/pg-core';`, null],
  // Inside delivery.
  ['apps/delivery/src/rules', `import '../net/guarded-connection.js';`, IMPORT],
  ['apps/delivery/src/rules', `import '../send/webhook.js';`, IMPORT],
  ['apps/delivery/src/rules', `import type { Queue } from '@ghost/queue';`, IMPORT],
  ['apps/delivery/src/rules', `import { request } from 'undici';`, IMPORT],
  ['apps/delivery/src/rules', `import { createTransport } from 'nodemailer';`, IMPORT],
  ['apps/delivery/src/rules', `import type { Pool } from 'pg';`, IMPORT],
  ['apps/delivery/src/rules', `import '@ghost/contract';`, null],
  ['apps/delivery/src/lanes', `import { request } from 'node:http';`, IMPORT],
  ['apps/delivery/src/lanes', `import '../send/email.js';`, IMPORT],
  ['apps/delivery/src/lanes', `import { createTransport } from 'nodemailer';`, IMPORT],
  ['apps/delivery/src/lanes', `import '@ghost/queue';`, null],
  ['apps/delivery/src/send', `import { Pool } from 'pg';`, IMPORT],
  ['apps/delivery/src/send', `import { createTransport } from 'nodemailer';`, IMPORT],
  ['apps/delivery/src/send', `import type { Transporter } from 'nodemailer';`, null],
  ['apps/delivery/src/status', `import { createPool } from '@ghost/db';`, IMPORT],
  // No default exports.
  ['packages/queue/src', 'export default 1;', DEFAULT],
  // Transactions by inTransaction alone.
  ['apps/api/src', 'export const run = (s) => s.db.transaction(() => 1);', PROPERTY],
  ['packages/operations/src', 'export const run = ({ transaction }) => transaction();', PROPERTY],
  // URLs by parseUrl alone.
  ['packages/policy/src', 'export const run = (s) => URL.canParse(s);', PROPERTY],
];

/** Pairs of files that need each other: [folder, one's text, the other's text]; `@` is the other. */
const CYCLES = [
  [
    'packages/queue/src',
    `import { a } from '@'; export const b = () => a;`,
    `import { b } from '@'; export const a = () => b;`,
  ],
  [
    'apps/delivery/src',
    `import type { A } from '@'; export type B = A[];`,
    `import type { B } from '@'; export type A = B[];`,
  ],
  [
    'apps/api/src',
    `import type { A } from '@'; export const b: A = 1;`,
    `import { b } from '@'; export type A = number; export const a = b;`,
  ],
];

if (process.argv.includes('--help')) {
  console.log(`Usage: node scripts/check-walls.mjs

Plants forbidden imports and cycles in a copy of the sources and demands that oxlint finds each one.
Exit code 0: every wall holds. 1: one does not, or an allowed import is refused; it says which.`);
  process.exit(0);
}

const copy = mkdtempSync(path.join(tmpdir(), 'ghost-walls-'));
const remove = () => rmSync(copy, { recursive: true, force: true });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    remove();
    process.exit(1);
  });
}
try {
  const faults = findFaults();
  for (const fault of faults) console.error(fault);
  if (faults.length === 0) {
    console.log(`${PLANTS.length} planted lines and ${CYCLES.length} cycles: every wall holds.`);
  }
  process.exitCode = faults.length === 0 ? 0 : 1;
} finally {
  remove();
}

function findFaults() {
  for (const name of SOURCES) {
    cpSync(path.join(root, name), path.join(copy, name), {
      recursive: true,
      filter: (source) => !NOT_COPIED.has(path.basename(source)),
    });
  }
  const expected = [...PLANTS.map(plantImport), ...CYCLES.flatMap(plantCycle)];
  const found = lint();
  return expected.flatMap(({ file, text, rule }) => {
    const rules = found.get(file) ?? new Set();
    if (rule !== null && !rules.has(rule)) return [`${rule} does not complain of ${file}: ${text}`];
    if (rule === null && rules.has(IMPORT)) return [`${IMPORT} refuses in ${file}: ${text}`];
    return [];
  });
}

function plantImport([folder, text, rule], number) {
  return plant(`${folder}/planted-import-${number}.ts`, text, rule);
}

function plantCycle([folder, one, other], number) {
  const names = [`planted-cycle-${number}-a`, `planted-cycle-${number}-b`];
  const texts = [other.replace('@', `./${names[1]}.js`), one.replace('@', `./${names[0]}.js`)];
  return names.map((name, index) => plant(`${folder}/${name}.ts`, texts[index], CYCLE));
}

function plant(file, text, rule) {
  mkdirSync(path.dirname(path.join(copy, file)), { recursive: true });
  writeFileSync(path.join(copy, file), `${text}\n`, { flag: 'wx' });
  return { file, text, rule };
}

/** Which rules complain of which planted file. */
function lint() {
  // Walls need no types: so the copy needs no installed packages.
  writeFileSync(
    path.join(copy, 'walls.mjs'),
    `import config from './oxlint.config.mjs';
     export default { ...config, options: { ...config.options, typeAware: false } };`,
  );
  const bin = path.join(root, 'node_modules/oxlint/bin/oxlint');
  const run = spawnSync(process.execPath, [bin, '-c', 'walls.mjs', '--format', 'json'], {
    cwd: copy,
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });
  const rules = new Map();
  for (const { filename, code } of parse(run).diagnostics) {
    if (!rules.has(filename)) rules.set(filename, new Set());
    rules.get(filename).add(code);
  }
  return rules;
}

function parse(run) {
  try {
    return JSON.parse(run.stdout);
  } catch {
    throw new Error(`oxlint did not run:\n${run.stdout}${run.stderr}${run.error ?? ''}`);
  }
}
