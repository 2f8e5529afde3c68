import { rmSync } from 'node:fs';
import { link, readFile, rm, writeFile } from 'node:fs/promises';

import { processStart } from '../embedded/process-identity.js';

interface Owner {
  pid: number;
  startedAt: string;
}

/** The right to use a folder, held by this process. */
export interface Lock {
  release(): Promise<void>;
  /** For a process that ends at once. */
  releaseNow(): void;
}

/** Another living process holds the lock. */
export class LockHeldError extends Error {
  override readonly name = 'LockHeldError';
  readonly pid: number;

  constructor(pid: number, file: string) {
    super(`Process ${pid} holds ${file}.`);
    this.pid = pid;
  }
}

/**
 * Takes a lock file; that of a dead process is taken over. A pid alone is used again by the system,
 * so its start time is compared too.
 * @throws LockHeldError
 */
export async function takeLock(file: string): Promise<Lock> {
  const draft = `${file}.${process.pid}`;
  const self: Owner = { pid: process.pid, startedAt: processStart(process.pid) ?? '' };
  await writeFile(draft, JSON.stringify(self));
  try {
    // A link appears whole or not at all, so nobody reads a half-written lock.
    while (!(await linked(draft, file))) {
      const owner = await readOwner(file);
      if (owner !== undefined && processStart(owner.pid) === owner.startedAt) {
        throw new LockHeldError(owner.pid, file);
      }
      await rm(file, { force: true });
    }
  } finally {
    await rm(draft, { force: true });
  }
  return {
    release: () => rm(file, { force: true }),
    releaseNow: () => rmSync(file, { force: true }),
  };
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

async function readOwner(file: string): Promise<Owner | undefined> {
  try {
    const owner = JSON.parse(await readFile(file, 'utf8')) as Partial<Owner> | null;
    if (typeof owner?.pid !== 'number' || typeof owner.startedAt !== 'string') return undefined;
    return { pid: owner.pid, startedAt: owner.startedAt };
  } catch {
    return undefined;
  }
}
