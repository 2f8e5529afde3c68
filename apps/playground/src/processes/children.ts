import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import type { LineLog } from './line-log.js';
import { settledWithin } from './settled-within.js';
import { READY_SIGNATURE_ENV, READY_SIGNATURE_HEADER } from '../sign-readiness-names.js';

const READY_WITHIN_MS = 60_000;
const READY_POLL_MS = 50;
const READY_ANSWER_MS = 2000;
/** After the grace period that a child was told, before it is killed. */
const KILL_AFTER_GRACE_MS = 5000;
const PRELOADED = ['end-with-parent', 'sign-readiness'].map(
  (name) => `--import=${new URL(`../../dist/${name}.js`, import.meta.url).href}`,
);

export interface ChildEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface ChildOptions {
  name: string;
  /** The program, a file that Node runs. */
  entry: URL;
  /** All that it sees: nothing is inherited. */
  env: Readonly<Record<string, string>>;
  /** Answers 200 once it can work. */
  readyUrl: string;
  log: LineLog;
  graceMs: number;
  /** Ends the wait for readiness. */
  signal: AbortSignal;
}

export interface Child {
  readonly name: string;
  readonly pid: number;
  /** What its answer about readiness is signed with: another program may answer on its port. */
  readonly signature: string;
  readonly ended: Promise<ChildEnd>;
  /** SIGTERM, once, and SIGKILL when its grace is over. Resolves when it is gone. */
  stop(): Promise<void>;
  kill(): void;
}

/** A child that ended when nobody asked it to; `lastLines` is what it said. */
export class ChildDiedError extends Error {
  override readonly name = 'ChildDiedError';
  readonly end: ChildEnd;
  readonly child: string;
  readonly lastLines: readonly string[];

  constructor(child: string, end: ChildEnd, lastLines: readonly string[]) {
    super(`${child} ended by itself (${describeEnd(end)}).`);
    this.child = child;
    this.end = end;
    this.lastLines = lastLines;
  }
}

export function describeEnd(end: ChildEnd): string {
  return end.signal === null ? `exit code ${end.code ?? 'unknown'}` : `signal ${end.signal}`;
}

/**
 * Starts a child in a process group of its own, so that the terminal's Ctrl-C reaches only the
 * playground, which stops all in order.
 */
export function launchChild(options: Omit<ChildOptions, 'readyUrl' | 'signal'>): Child {
  const { name, entry, env, log, graceMs } = options;
  const signature = randomUUID();
  const child = spawn(
    process.execPath,
    ['--enable-source-maps', ...PRELOADED, fileURLToPath(entry)],
    {
      env: { ...env, [READY_SIGNATURE_ENV]: signature },
      stdio: ['pipe', log.descriptor, log.descriptor],
      detached: true,
    },
  );
  // The pipe is held open and never written to; it breaks when the child ends first.
  child.stdin?.on('error', () => undefined);
  const ended = whenEnded(child);
  let stopping: Promise<void> | undefined;
  const kill = (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
  };
  const stop = async () => {
    kill('SIGTERM');
    const inTime = await settledWithin(ended, graceMs + KILL_AFTER_GRACE_MS);
    if (inTime) return;
    kill('SIGKILL');
    await ended;
    throw new Error(`${name} did not end within its grace period of ${graceMs} ms and was killed.`);
  };
  return {
    name,
    pid: child.pid ?? 0,
    signature,
    ended,
    stop: () => (stopping ??= stop()),
    kill: () => kill('SIGKILL'),
  };
}

/**
 * Waits until a child can work; an answer of another program on its port is none.
 * @throws ChildDiedError when it ends first; what `signal` was aborted with; an Error after 60 s
 */
export async function untilReady(
  child: Child,
  { readyUrl, log, signal }: Pick<ChildOptions, 'readyUrl' | 'log' | 'signal'>,
): Promise<void> {
  let end: ChildEnd | undefined;
  void child.ended.then((how) => {
    end = how;
  });
  const giveUpAt = performance.now() + READY_WITHIN_MS;
  while (!(await answersOk(readyUrl, child.signature))) {
    signal.throwIfAborted();
    if (end) throw new ChildDiedError(child.name, end, log.lastLines());
    if (performance.now() > giveUpAt) {
      throw new Error(
        `${child.name} was not ready within ${READY_WITHIN_MS / 1000} s. Its log: ${log.file}`,
      );
    }
    await delay(READY_POLL_MS);
  }
}

async function answersOk(url: string, signature: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(READY_ANSWER_MS) });
    await response.arrayBuffer();
    return response.ok && response.headers.get(READY_SIGNATURE_HEADER) === signature;
  } catch {
    return false;
  }
}

function whenEnded(child: ChildProcess): Promise<ChildEnd> {
  return new Promise((resolve) => {
    child.once('error', () => resolve({ code: null, signal: null }));
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
}
