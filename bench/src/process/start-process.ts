import { type ChildProcess, spawn, spawnSync, type StdioOptions } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const READY_WITHIN_MS = 30_000;
const STOP_WITHIN_MS = 20_000;
const POLL_MS = 10;
const LINES_IN_ERRORS = 20;

export interface StartOptions {
  /** For messages. */
  name: string;
  command: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Gets what it prints: a file costs us nothing while we measure, a pipe would. */
  logFile: string;
  /** The text that says it works. */
  ready: string;
  /** With a channel for `process.send`. */
  channel?: boolean;
}

export interface Running {
  readonly pid: number;
  readonly child: ChildProcess;
  /** SIGTERM, and SIGKILL when it takes too long. */
  stop(): Promise<void>;
  /** Of what it printed until now. */
  lastLines(): string[];
}

const alive = new Set<ChildProcess>();
// Whatever ends the bench, nothing that it started outlives it.
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/**
 * Starts a process and waits until it works. Where the system can, it dies with this one.
 *
 * @throws with its last lines, when it ends or is not ready in time
 */
export async function startProcess(options: StartOptions): Promise<Running> {
  const running = launch(options);
  const { child } = running;
  const giveUpAt = performance.now() + READY_WITHIN_MS;
  while (!readFileSync(options.logFile, 'utf8').includes(options.ready)) {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
      throw failure(options, 'ended while starting');
    }
    if (performance.now() > giveUpAt) {
      await running.stop();
      throw failure(options, `was not ready within ${READY_WITHIN_MS / 1000} s`);
    }
    await delay(POLL_MS);
  }
  return running;
}

function launch({ command, env, logFile, channel }: StartOptions): Running {
  const [program = '', ...args] = [...withParentWatch(), ...command];
  const log = openSync(logFile, 'w');
  const stdio: StdioOptions = channel ? ['ignore', log, log, 'ipc'] : ['ignore', log, log];
  // A group of its own: Ctrl-C reaches us alone, and we stop things in order.
  const child = spawn(program, args, { env: { ...path(), ...env }, stdio, detached: true });
  closeSync(log);
  alive.add(child);
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    // A program that is not there: `pid` stays undefined.
    child.once('error', () => resolve());
  }).finally(() => alive.delete(child));
  const stop = async () => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
    await exited;
    clearTimeout(timer);
  };
  return { pid: child.pid ?? 0, child, stop, lastLines: () => lastLines(logFile) };
}

function path(): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '/usr/bin:/bin' };
}

let parentWatch: boolean | undefined;
function withParentWatch(): string[] {
  parentWatch ??= spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true']).status === 0;
  return parentWatch ? ['setpriv', '--pdeathsig', 'KILL'] : [];
}

function failure({ name, logFile }: StartOptions, what: string): Error {
  return new Error([`${name} ${what}. Its last lines:`, ...lastLines(logFile)].join('\n'));
}

function lastLines(logFile: string): string[] {
  const lines = readFileSync(logFile, 'utf8').trim().split('\n');
  return lines.slice(-LINES_IN_ERRORS).map((line) => `  ${line}`);
}
