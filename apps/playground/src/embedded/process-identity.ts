import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';

/**
 * When a process started, as an opaque string: with the pid it names one process for ever, where a
 * pid alone is used again. Undefined when there is no such process (a zombie is none).
 */
export function processStart(pid: number): string | undefined {
  return process.platform === 'linux' ? startFromProc(pid) : startFromPs(pid);
}

/** True when a process with this pid runs now. */
export function isRunning(pid: number): boolean {
  return processStart(pid) !== undefined;
}

/**
 * The pids of the Postgres processes that work in a data folder, the postmaster's children
 * included. Elsewhere than on Linux only `postmaster`, if that is what the pid belongs to.
 *
 * @param folder - the real path of the data folder; Postgres changes into it.
 */
export function postgresProcessesIn(folder: string, postmaster: number | undefined): number[] {
  if (process.platform !== 'linux') {
    return postmaster !== undefined && psField(postmaster, 'comm')?.endsWith('postgres') === true
      ? [postmaster]
      : [];
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readLink(`/proc/${pid}/cwd`) === folder)
    .filter((pid) => path.basename(readLink(`/proc/${pid}/exe`) ?? '') === 'postgres')
    .map(Number);
}

function readLink(file: string): string | undefined {
  try {
    return readlinkSync(file);
  } catch {
    return undefined;
  }
}

function startFromProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The program's name may hold spaces and brackets: the fields are counted after it (proc(5)).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function startFromPs(pid: number): string | undefined {
  return psField(pid, 'stat')?.startsWith('Z') === true ? undefined : psField(pid, 'lstart');
}

function psField(pid: number, field: string): string | undefined {
  try {
    const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
    const text = execFileSync('ps', ['-o', `${field}=`, '-p', String(pid)], { stdio });
    return text.toString().trim() || undefined;
  } catch {
    return undefined;
  }
}
