#!/usr/bin/env node
// Writes apps/api/openapi.json from the built API; with --check says whether it is stale instead.

import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const file = path.join(root, 'apps/api/openapi.json');
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

const made = spawnSync(process.execPath, [path.join(root, 'apps/api/dist/print-openapi.js')], {
  encoding: 'utf8',
  maxBuffer: MAX_OUTPUT_BYTES,
});
if (made.status !== 0) {
  console.error(`The API could not be put together; was it built? (npm run build)\n${made.stderr}`);
  process.exit(1);
}
if (process.argv.includes('--check')) {
  if (checkedIn() !== made.stdout) {
    console.error('apps/api/openapi.json is not what the API serves.');
    process.exitCode = 1;
  }
} else {
  writeFileSync(file, made.stdout);
}

function checkedIn() {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
