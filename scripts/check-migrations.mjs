#!/usr/bin/env node
// Checks the migrations of packages/db: they run in the order of their numbers, none is left out or
// empty, and the tables in the code are what they make (generating again changes nothing).

import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dbFolder = path.join(root, 'packages/db');
const KIT = path.join(root, 'node_modules/drizzle-kit/bin.cjs');
/** It takes 2 s; a question on the terminal, which nobody answers, would take for ever. */
const KIT_TIMEOUT_MS = 60_000;

if (process.argv.includes('--help')) {
  console.log(`Usage: node scripts/check-migrations.mjs

Checks packages/db: the journal's order and completeness, drizzle-kit check, and that generating
migrations from the tables changes nothing. Works on a copy; nothing in the tree is written.
Exit code 0: all well. 1: it says what is wrong and what to do.`);
  process.exit(0);
}

const out = outFolder();
const faults = [...journalFaults(path.join(dbFolder, out)), ...generationFaults(out)];
for (const fault of faults) console.error(fault);
if (faults.length === 0) console.log('Migrations are in order and match the tables.');
process.exitCode = faults.length === 0 ? 0 : 1;

/** Where drizzle.config.ts says that migrations lie, relative to packages/db. */
function outFolder() {
  const text = readFileSync(path.join(dbFolder, 'drizzle.config.ts'), 'utf8');
  const found = /\bout:\s*['"]([^'"]+)['"]/.exec(text)?.[1];
  if (found === undefined) throw new Error('packages/db/drizzle.config.ts names no `out` folder.');
  return found;
}

function journalFaults(folder) {
  const journal = JSON.parse(readFileSync(path.join(folder, 'meta/_journal.json'), 'utf8'));
  const listed = journal.entries.map(({ tag }) => `${tag}.sql`);
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  const problems = [];
  journal.entries.forEach(({ idx, tag, when }, place) => {
    const number = String(place).padStart(4, '0');
    if (idx !== place || !tag.startsWith(`${number}_`)) {
      problems.push(
        `${tag}: stands at place ${number} of the journal. Number migrations in the order in which they run.`,
      );
    }
    // Drizzle runs only what is newer than the newest that ran: an older one is silently left out.
    if (place > 0 && when <= journal.entries[place - 1].when) {
      problems.push(
        `${tag}: its time in the journal is not after that of the one before, so it would never run. Generate it again.`,
      );
    }
  });
  for (const name of files.filter((file) => !listed.includes(file))) {
    problems.push(
      `${name}: is not in meta/_journal.json, so it never runs. Make migrations with drizzle-kit.`,
    );
  }
  for (const name of listed.filter((file) => !files.includes(file))) {
    problems.push(`${name}: is in meta/_journal.json, and the file is missing.`);
  }
  for (const name of files) {
    // Text appended to a file without a last newline joins the comment there.
    const sql = readFileSync(path.join(folder, name), 'utf8').replace(/--.*$/gm, '').trim();
    if (sql === '') problems.push(`${name}: holds comments alone and does nothing.`);
  }
  return problems;
}

function generationFaults(outName) {
  const copy = mkdtempSync(path.join(tmpdir(), 'ghost-migrations-'));
  try {
    const db = path.join(copy, 'packages/db');
    cpSync(dbFolder, db, {
      recursive: true,
      filter: (source) => !['node_modules', 'dist'].includes(path.basename(source)),
    });
    cpSync(path.join(root, 'tsconfig.base.json'), path.join(copy, 'tsconfig.base.json'));
    symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
    const own = path.join(dbFolder, 'node_modules');
    if (existsSync(own)) symlinkSync(own, path.join(db, 'node_modules'));
    const checked = kit(db, 'check');
    if (checked !== undefined) return [checked];
    const before = contents(path.join(db, outName));
    const generated = kit(db, 'generate');
    if (generated !== undefined) return [generated];
    const after = contents(path.join(db, outName));
    return [...after]
      .filter(([name, text]) => before.get(name) !== text)
      .map(
        ([name]) =>
          `${outName}/${name}: would change. Run \`npx drizzle-kit generate\` in packages/db and commit what it makes.`,
      );
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Runs drizzle-kit; returns what it said if it failed. */
function kit(cwd, command) {
  const run = spawnSync(process.execPath, [KIT, command], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: KIT_TIMEOUT_MS,
  });
  if (run.status === 0) return undefined;
  return `drizzle-kit ${command} failed (${run.error?.message ?? `exit code ${run.status}`}):\n${run.stdout}${run.stderr}`;
}

function contents(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return new Map(
    files.map((entry) => {
      const file = path.join(entry.parentPath, entry.name);
      return [path.relative(folder, file), readFileSync(file, 'utf8')];
    }),
  );
}
