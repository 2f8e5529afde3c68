import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time for user space in hundredths of a second, whatever its timer is. */
const MS_PER_TICK = 10;

/** CPU time in milliseconds of a process and, with `family`, of its children, ended ones included. */
export function cpuMs(pid: number, family = false): number {
  const own = statOf(pid);
  if (own === null) return 0;
  if (!family) return own.ms;
  const living = pids().map(statOf);
  return living
    .filter((stat) => stat?.parent === pid)
    .reduce((sum, stat) => sum + (stat?.ms ?? 0), own.ms + own.endedChildrenMs);
}

/** Resident memory in MB: now, and the most there ever was. */
export function memoryMb(pid: number): { now: number; most: number } {
  const status = read(`/proc/${pid}/status`);
  const kb = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'mu').exec(status)?.[1]);
  return { now: kb('VmRSS') / 1024, most: kb('VmHWM') / 1024 };
}

interface Stat {
  parent: number;
  ms: number;
  endedChildrenMs: number;
}

function statOf(pid: number): Stat | null {
  const text = read(`/proc/${pid}/stat`);
  if (text === '') return null;
  // The second field is the name in brackets and may hold blanks; the third is field 0 here.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [parent = 0, utime = 0, stime = 0, cutime = 0, cstime = 0] = [1, 11, 12, 13, 14].map(
    (at) => fields[at] ?? 0,
  );
  return {
    parent,
    ms: (utime + stime) * MS_PER_TICK,
    endedChildrenMs: (cutime + cstime) * MS_PER_TICK,
  };
}

function pids(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** Empty where there is no such process, or no /proc. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
