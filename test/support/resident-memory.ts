import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const KB = 1024;

/** The resident memory of a process in bytes, as the system counts it. */
export function residentBytes(pid: number): number {
  if (process.platform === 'linux') {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/mu.exec(
      readFileSync(`/proc/${pid}/status`, 'utf8'),
    )?.[1];
    return Number(kilobytes) * KB;
  }
  const { stdout } = spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' });
  return Number(stdout) * KB;
}
