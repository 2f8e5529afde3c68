#!/usr/bin/env node
// `npm start`: checks Node, builds what changed, and runs the playground with the arguments given.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const playground = path.join(root, 'apps/playground/dist');
const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
/** The playground, and what it starts or names. */
const STARTED = ['apps/playground', 'apps/api', 'apps/delivery', 'apps/cli'];
const BUILD_STEPS = [
  // Only what runs: a type error in a test is no reason not to start.
  [tsc, '-b', '--pretty', 'false', ...STARTED],
  [path.join(root, 'scripts/bundle-delivery.mjs')],
];
/** From the terminal Ctrl-C comes to npm and to us, and npm passes its own on to us at once. */
const SAME_SIGNAL_WITHIN_MS = 500;
/** Says who builds: two at once would start on each other's half-written files. */
const BUILD_LOCK = path.join(root, 'node_modules/.ghost-build.lock');
/** A lock without a pid is being written; after so long its writer must have died. */
const UNSIGNED_AFTER_MS = 5000;
/** No build takes so long: who holds the lock died, and its pid was given to another process. */
const ABANDONED_AFTER_MS = 600_000;
const LOOK_AGAIN_MS = 100;

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
  const unlock = lockBuild();
  let built;
  for (const step of BUILD_STEPS) {
    built = spawnSync(process.execPath, step, { cwd: root, encoding: 'utf8' });
    if (built.status !== 0) break;
  }
  unlock();
  if (built.status === 0) {
    process.stderr.write(`${((performance.now() - start) / 1000).toFixed(1)} s\n`);
    return;
  }
  process.stderr.write('failed\n');
  fail(
    `${built.stdout}${built.stderr}${built.error ?? ''}\nThe build failed: mend what it names and start again.`,
  );
}

/** Waits for the build of another start, then keeps others waiting. Returns what lets them go on. */
function lockBuild() {
  let told = false;
  for (;;) {
    try {
      writeFileSync(BUILD_LOCK, String(process.pid), { flag: 'wx' });
      return () => rmSync(BUILD_LOCK, { force: true });
    } catch (error) {
      // Where nothing can be written, nothing can be built either, and tsc says so.
      if (error.code !== 'EEXIST') return () => undefined;
    }
    if (isAbandoned()) {
      rmSync(BUILD_LOCK, { force: true });
      continue;
    }
    if (!told) process.stderr.write('(after the build of another start) … ');
    told = true;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_AGAIN_MS);
  }
}

/** Whether the one who holds the build's lock is gone. */
function isAbandoned() {
  try {
    const pid = Number(readFileSync(BUILD_LOCK, 'utf8'));
    const ageMs = Date.now() - statSync(BUILD_LOCK).mtimeMs;
    if (!(pid > 0)) return ageMs > UNSIGNED_AFTER_MS;
    // Our own: in a container each start may get the pid of the one before.
    return pid === process.pid || !isAlive(pid) || ageMs > ABANDONED_AFTER_MS;
  } catch {
    // It was released meanwhile: the next try tells.
    return false;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
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
