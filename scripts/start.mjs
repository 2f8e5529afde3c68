#!/usr/bin/env node
// `npm start`: checks Node, builds what changed, and runs the playground with the arguments given.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const playground = path.join(root, 'apps/playground/dist');
const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
/** The playground, and what it starts or names. */
const STARTED = ['apps/playground', 'apps/api', 'apps/delivery', 'apps/cli'];
/** From the terminal Ctrl-C comes to npm and to us, and npm passes its own on to us at once. */
const SAME_SIGNAL_WITHIN_MS = 500;

checkNode();
build();
run(process.argv.slice(2));

function checkNode() {
  const { engines } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const wanted = engines.node.match(/\d+/g).map(Number);
  const found = process.versions.node.split('.').map(Number);
  const older = found[0] < wanted[0] || (found[0] === wanted[0] && found[1] < (wanted[1] ?? 0));
  if (older) {
    fail(
      `Node ${wanted.join('.')} or newer is needed; this is ${process.versions.node}. See https://nodejs.org/en/download.`,
    );
  }
}

function build() {
  if (!existsSync(tsc)) fail('The packages are not installed. Run `npm ci` first.');
  const start = performance.now();
  process.stderr.write('Building … ');
  // Only what runs: a type error in a test is no reason not to start.
  const built = spawnSync(process.execPath, [tsc, '-b', '--pretty', 'false', ...STARTED], {
    cwd: root,
    encoding: 'utf8',
  });
  if (built.status === 0) {
    process.stderr.write(`${((performance.now() - start) / 1000).toFixed(1)} s\n`);
    return;
  }
  process.stderr.write('failed\n');
  fail(
    `${built.stdout}${built.stderr}${built.error ?? ''}\nThe build failed: mend what it names and start again.`,
  );
}

function run(args) {
  // In a group of its own, the playground hears of Ctrl-C from us alone, and once. Its standard
  // input ends with us, however we end, and then it stops too.
  const endWithUs = pathToFileURL(path.join(playground, 'end-with-parent.js')).href;
  const nodeArgs = [
    '--enable-source-maps',
    '--import',
    endWithUs,
    path.join(playground, 'main.js'),
  ];
  const child = spawn(process.execPath, [...nodeArgs, ...args], {
    cwd: root,
    detached: true,
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  child.stdin.on('error', () => undefined);
  const lastAt = new Map();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      const now = performance.now();
      if (now - (lastAt.get(signal) ?? Number.NEGATIVE_INFINITY) < SAME_SIGNAL_WITHIN_MS) return;
      lastAt.set(signal, now);
      // A closed terminal means: stop in good order.
      child.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal);
    });
  }
  child.on('error', (error) => fail(`Could not start the playground: ${error.message}`));
  child.on('exit', (code, signal) => {
    process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
  });
}

function fail(message) {
  process.stderr.write(`${message.trim()}\n`);
  process.exit(1);
}
