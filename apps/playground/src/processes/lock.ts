import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

import { processStart } from '../embedded/process-identity.js';

/** A take-over lasts some milliseconds. */
const LOOK_AGAIN_MS = 20;

export interface LockOwner {
  pid: number;
  startedAt: string;
  /** Where it can be reached, once it is known. */
  url?: string;
}

/** The right to use something, held by this process. */
export interface Lock {
  /** True when its owner died without releasing it. */
  readonly ownerDied: boolean;
  /** Tells others where this process can be reached. */
  tell(url: string): Promise<void>;
  release(): Promise<void>;
  /** For a process that ends at once. */
  releaseNow(): void;
}

/** Another living process holds the lock. */
export class LockHeldError extends Error {
  override readonly name = 'LockHeldError';
  readonly owner: LockOwner;

  constructor(owner: LockOwner, file: string) {
    super(`Process ${owner.pid} holds ${file}.`);
    this.owner = owner;
  }
}

/**
 * Takes a lock file; that of a dead process is taken over. A pid alone is used again by the system,
 * so its start time is compared too.
 * @throws LockHeldError
 */
export async function takeLock(file: string): Promise<Lock> {
  const self: LockOwner = { pid: process.pid, startedAt: processStart(process.pid) ?? '' };
  let ownerDied = false;
  while (!(await placed(self, file))) {
    if (await isDead(file)) ownerDied = (await removeDead(file)) || ownerDied;
  }
  return {
    ownerDied,
    async tell(url) {
      const draft = draftOf(file);
      await writeFile(draft, JSON.stringify({ ...self, url }));
      await rename(draft, file);
    },
    release: () => rm(file, { force: true }),
    releaseNow: () => rmSync(file, { force: true }),
  };
}

function draftOf(file: string): string {
  return `${file}.${randomUUID()}`;
}

/** A link appears whole or not at all, so nobody reads a half-written lock. */
async function placed(owner: LockOwner, file: string): Promise<boolean> {
  const draft = draftOf(file);
  await writeFile(draft, JSON.stringify(owner));
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * @returns false when the lock is gone
 * @throws LockHeldError when its owner lives
 */
async function isDead(file: string): Promise<boolean> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false;
    throw error;
  }
  const owner = parseOwner(text);
  if (owner !== undefined && processStart(owner.pid) === owner.startedAt) {
    throw new LockHeldError(owner, file);
  }
  return true;
}

/**
 * Two that found the same dead owner must not both remove the file: the slower one would remove the
 * new lock of the faster. So only who holds a lock on the take-over removes, and looks once more.
 * @returns whether this process removed it
 */
async function removeDead(file: string): Promise<boolean> {
  let guard: Lock;
  try {
    guard = await takeLock(`${file}.takeover`);
  } catch (error) {
    if (!(error instanceof LockHeldError)) throw error;
    await delay(LOOK_AGAIN_MS);
    return false;
  }
  try {
    const dead = await isDead(file);
    if (dead) await rm(file, { force: true });
    return dead;
  } finally {
    await guard.release();
  }
}

/** Undefined for what no owner wrote. */
function parseOwner(text: string): LockOwner | undefined {
  try {
    const owner = JSON.parse(text) as Partial<LockOwner> | null;
    if (typeof owner?.pid !== 'number' || typeof owner.startedAt !== 'string') return undefined;
    const { pid, startedAt, url } = owner;
    return { pid, startedAt, ...(typeof url === 'string' ? { url } : {}) };
  } catch {
    return undefined;
  }
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
