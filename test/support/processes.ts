import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

const READY_WITHIN_MS = 30_000;
const LINE_WITHIN_MS = 10_000;
const STOP_WITHIN_MS = 20_000;
/** After the end of a process its output is read out, unless a child of it still holds it open. */
const DRAIN_WITHIN_MS = 1_000;
const LINES_IN_ERRORS = 40;

export type LinePattern = RegExp | ((line: string) => boolean);

export interface StartProcessOptions {
  /** For messages. */
  readonly name: string;
  /** A file that Node runs; or `command`, a program and its first arguments. */
  readonly entry?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  /** All that the process sees besides PATH: nothing is inherited. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The line, of stdout or stderr, that says it works. Without it a start is not waited for. */
  readonly ready?: LinePattern;
  readonly readyWithinMs?: number;
}

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunningProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Settles at its end, after the last line was read. */
  readonly exited: Promise<ProcessEnd>;
  /** Every line of stdout and stderr until now. */
  lines(): readonly string[];
  /** The first line that fits, seen already or yet to come. Rejects at the process' end. */
  waitForLine(pattern: LinePattern, timeoutMs?: number): Promise<string>;
  /** Asks it to stop (SIGTERM) and waits; one that does not is killed, and the call rejects. */
  stop(signal?: NodeJS.Signals): Promise<ProcessEnd>;
  /** SIGKILL, and waits for the end. */
  kill9(): Promise<ProcessEnd>;
}

const alive = new Set<RunningProcess>();
process.once('exit', () => {
  for (const running of alive) killGroup(running.pid);
});

/**
 * Starts a real process in a group of its own and, with `ready`, waits until it works. It is killed
 * at the end of the test that started it, and with this process in any case.
 *
 * @throws with its last lines, when it ends or is not ready in time.
 */
export async function startProcess(options: StartProcessOptions): Promise<RunningProcess> {
  const running = launch(options);
  alive.add(running);
  void running.exited.then(() => {
    killGroup(running.pid);
    alive.delete(running);
  });
  await killAtTestEnd(running);
  if (options.ready === undefined) return running;
  try {
    await running.waitForLine(options.ready, options.readyWithinMs ?? READY_WITHIN_MS);
    return running;
  } catch (cause) {
    await running.kill9();
    throw cause;
  }
}

function launch(options: StartProcessOptions): RunningProcess {
  const [program, ...args] = [...commandLine(options), ...(options.args ?? [])];
  if (program === undefined) throw new Error(`${options.name}: give an entry or a command.`);
  const child = spawn(program, args, {
    cwd: options.cwd ?? process.cwd(),
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', ...options.env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = collectOutput(child);
  const exited = whenEnded(child);
  let ended = false;
  void exited.then(() => {
    ended = true;
  });
  const describe = (what: string) => explain(options.name, what, output.lines);
  return {
    child,
    pid: child.pid ?? 0,
    exited,
    lines: () => output.lines,
    waitForLine: (pattern, timeoutMs = LINE_WITHIN_MS) =>
      waitForLine(output, pattern, timeoutMs, exited, describe),
    stop: async (signal = 'SIGTERM') => {
      if (!ended) child.kill(signal);
      const end = await within(exited, STOP_WITHIN_MS);
      if (end !== undefined) return end;
      child.kill('SIGKILL');
      await exited;
      throw describe(`did not stop within ${STOP_WITHIN_MS} ms of ${signal} and was killed`);
    },
    kill9: () => {
      if (!ended) child.kill('SIGKILL');
      return exited;
    },
  };
}

function commandLine({ name, entry, command }: StartProcessOptions): readonly string[] {
  if ((entry === undefined) === (command === undefined)) {
    throw new Error(`${name}: give either an entry or a command.`);
  }
  const base = command ?? [process.execPath, '--enable-source-maps', entry as string];
  return hasParentWatch() ? ['setpriv', '--pdeathsig', 'KILL', ...base] : base;
}

let parentWatch: boolean | undefined;
/** Where Linux can, it kills the process when the test worker dies, however that happens. */
function hasParentWatch(): boolean {
  parentWatch ??= spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true']).status === 0;
  return parentWatch;
}

interface Output {
  readonly lines: string[];
  readonly listeners: Set<(line: string) => void>;
}

function collectOutput(child: ChildProcess): Output {
  const output: Output = { lines: [], listeners: new Set() };
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      output.lines.push(line);
      for (const listener of output.listeners) listener(line);
    });
  }
  return output;
}

async function waitForLine(
  output: Output,
  pattern: LinePattern,
  timeoutMs: number,
  exited: Promise<ProcessEnd>,
  describe: (what: string) => Error,
): Promise<string> {
  const fits = (line: string) =>
    typeof pattern === 'function' ? pattern(line) : line.search(pattern) >= 0;
  const seen = output.lines.find(fits);
  if (seen !== undefined) return seen;
  return new Promise<string>((resolve, reject) => {
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      output.listeners.delete(onLine);
      settle();
    };
    const onLine = (line: string) => {
      if (fits(line)) finish(() => resolve(line));
    };
    const giveUp = () =>
      finish(() =>
        reject(describe(`wrote no line like ${String(pattern)} within ${timeoutMs} ms`)),
      );
    const timer = setTimeout(giveUp, timeoutMs);
    output.listeners.add(onLine);
    void exited.then(({ code, signal }) => {
      const how = signal ?? `exit code ${code}`;
      finish(() => reject(describe(`ended (${how}) before a line like ${String(pattern)}`)));
    });
  });
}

async function whenEnded(child: ChildProcess): Promise<ProcessEnd> {
  const drained = once(child, 'close').catch(() => undefined);
  const end = await new Promise<ProcessEnd>((resolve) => {
    child.once('error', () => resolve({ code: null, signal: null }));
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  await within(drained, DRAIN_WITHIN_MS);
  return end;
}

async function within<T>(promise: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  const timeout = new AbortController();
  try {
    return await Promise.race([
      promise,
      delay(timeoutMs, undefined, { signal: timeout.signal }).catch(() => undefined),
    ]);
  } finally {
    timeout.abort();
  }
}

function explain(name: string, what: string, lines: readonly string[]): Error {
  const last = lines.slice(-LINES_IN_ERRORS).map((line) => `  ${line}`);
  return new Error(
    [`${name} ${what}. Its last lines:`, ...(last.length > 0 ? last : ['  (none)'])].join('\n'),
  );
}

/** What the process started itself goes with it. */
function killGroup(pid: number): void {
  if (pid === 0) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing is left of the group.
  }
}

async function killAtTestEnd(running: RunningProcess): Promise<void> {
  if (process.env['VITEST'] === undefined) return;
  const { onTestFinished } = await import('vitest');
  try {
    onTestFinished(async () => {
      await running.kill9();
    });
  } catch {
    // Started in a hook: whoever did stops it in `afterAll`.
  }
}
