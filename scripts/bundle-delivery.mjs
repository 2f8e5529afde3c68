#!/usr/bin/env node
// Makes apps/delivery/dist/main.js and the parts that it loads late, see
// docs/decisions/0036-the-delivery-bundle.md. It reads what `tsc -b` made of the packages.

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

if (process.argv.includes('--help')) {
  console.log(`Usage: node scripts/bundle-delivery.mjs [FOLDER]

Bundles apps/delivery into FOLDER (apps/delivery/dist). Files that stay the same are not touched, and
those of the build before stay, as a process that runs may load them later.`);
  process.exit(0);
}

const root = fileURLToPath(new URL('..', import.meta.url));
const app = path.join(root, 'apps/delivery');
const dist = path.resolve(process.argv[2] ?? path.join(app, 'dist'));
/** What tsc writes there. */
const TYPES = 'types';
/** Names the files of this build and of the one before. */
const LIST = 'files.json';
const ENTRY = 'main.js';
const LINE_LIMIT = 120;

const files = await bundle();
mkdirSync(dist, { recursive: true });
// The entry last: whoever starts meanwhile gets the old program or the new one.
files.sort((one, other) => Number(one.name === ENTRY) - Number(other.name === ENTRY));
for (const { name, contents } of files) writeIfChanged(path.join(dist, name), contents);
removeOld(files.map(({ name }) => name));

async function bundle() {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [path.join(app, 'src/main.ts')],
    outdir: dist,
    write: false,
    bundle: true,
    splitting: true,
    chunkNames: 'part-[hash]',
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    // ESM where a library has it: only that can be shaken.
    mainFields: ['module', 'main'],
    // Optional: pg asks for it only when told to.
    external: ['pg-native'],
    // pg probes whether it runs at Cloudflare's. In Node 20 the probe loads the built-in fetch: 7 MB.
    define: { navigator: 'undefined', Response: 'undefined' },
    // Names stay and lines are short, so that a stack trace tells something without the map too. The
    // white space is 0.5 MB of an idle process, on Node 24 2 MB (measured).
    minifyWhitespace: true,
    lineLimit: LINE_LIMIT,
    sourcemap: true,
    sourcesContent: false,
    legalComments: 'none',
    // CommonJS libraries ask for Node's own modules with it.
    banner: {
      js: "import { createRequire as ghostRequire } from 'node:module'; const require = ghostRequire(import.meta.url);",
    },
    logLevel: 'warning',
  });
  return outputFiles.map(({ path: file, contents }) => ({
    name: path.relative(dist, file),
    contents,
  }));
}

function writeIfChanged(file, contents) {
  if (existsSync(file) && readFileSync(file).equals(contents)) return;
  const unfinished = `${file}.${process.pid}.tmp`;
  writeFileSync(unfinished, contents);
  renameSync(unfinished, file);
}

/** A process of the build before may still run, and load its parts later: those stay until the next. */
function removeOld(names) {
  const list = path.join(dist, LIST);
  let files = { current: [], previous: [] };
  if (existsSync(list)) files = JSON.parse(readFileSync(list, 'utf8'));
  const current = names.toSorted();
  if (String(current) !== String(files.current)) files = { current, previous: files.current };
  writeIfChanged(list, Buffer.from(`${JSON.stringify(files)}\n`));
  const kept = new Set([TYPES, LIST, ...files.current, ...files.previous]);
  for (const name of readdirSync(dist)) {
    if (!kept.has(name)) rmSync(path.join(dist, name), { recursive: true, force: true });
  }
}
