import { readFile, realpath, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { postgresProcessesIn } from './process-identity.js';
import { PostgresStartError } from './postgres-start-error.js';

/** Each harder signal and how long it gets: fast shutdown, immediate shutdown, the end. */
const STOP_STEPS: readonly { signal: NodeJS.Signals; waitMs: number }[] = [
  { signal: 'SIGINT', waitMs: 10_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
];
const LOOK_EVERY_MS = 25;

/**
 * Stops what an owner that died left running on the data folder and removes its pid file, which
 * could name a process of today. Call it while holding the folder's lock.
 *
 * @param ownerDied - only then are running processes ours to stop.
 * @throws {PostgresStartError} `data-folder-in-use` when a Postgres runs there that was not started
 *   by this program; `leftover-not-stopped` when one outlives SIGKILL.
 */
export async function sweepLeftovers(dataDir: string, ownerDied: boolean): Promise<void> {
  const folder = await realPathIfAny(dataDir);
  if (folder === undefined) return;
  const pidFile = path.join(folder, 'postmaster.pid');
  const postmaster = await readPostmasterPid(pidFile);
  const running = () => postgresProcessesIn(folder, postmaster);
  const found = running();
  if (found.length > 0 && !ownerDied) {
    throw new PostgresStartError(
      'data-folder-in-use',
      `A Postgres (process ${postmaster ?? found[0]}) that was not started by this program uses ${dataDir}. ` +
        'Stop it first.',
    );
  }
  if (found.length > 0) await stopProcesses(running, postmaster, dataDir);
  await rm(pidFile, { force: true });
}

/** Ends every process that `running` lists, gently first; the postmaster tells its children. */
async function stopProcesses(
  running: () => number[],
  postmaster: number | undefined,
  dataDir: string,
): Promise<void> {
  for (const { signal, waitMs } of STOP_STEPS) {
    const pids = running();
    const first = pids.filter((pid) => pid === postmaster);
    for (const pid of signal === 'SIGINT' && first.length > 0 ? first : pids) kill(pid, signal);
    const end = performance.now() + waitMs;
    while (performance.now() < end) {
      if (running().length === 0) return;
      await delay(LOOK_EVERY_MS);
    }
  }
  throw new PostgresStartError(
    'leftover-not-stopped',
    `An earlier Postgres still runs on ${dataDir} (processes ${running().join(', ')}) and cannot be stopped. ` +
      'Stop these processes by hand.',
  );
}

/** The postmaster's pid: the first line of its pid file. */
export async function readPostmasterPid(pidFile: string): Promise<number | undefined> {
  const lines = await readPostmasterFile(pidFile);
  const pid = Number.parseInt(lines[0] ?? '', 10);
  return Number.isNaN(pid) ? undefined : pid;
}

/** The lines of `postmaster.pid`; none when it does not exist (src/include/utils/pidfile.h). */
export async function readPostmasterFile(pidFile: string): Promise<string[]> {
  try {
    return (await readFile(pidFile, 'utf8')).split('\n');
  } catch {
    return [];
  }
}

async function realPathIfAny(folder: string): Promise<string | undefined> {
  try {
    return await realpath(folder);
  } catch {
    return undefined;
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended between the look and the signal.
  }
}
