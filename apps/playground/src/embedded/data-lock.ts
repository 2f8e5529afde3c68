import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { processStart } from './process-identity.js';
import { PostgresStartError } from './postgres-start-error.js';

interface Owner {
  readonly pid: number;
  readonly startedAt: string;
}

/** The right to run Postgres on one data folder, held by this process. */
export interface DataLock {
  /** True when an owner died without releasing: its Postgres may still run and may be stopped. */
  readonly ownerDied: boolean;
  release(): Promise<void>;
}

/**
 * Takes the data folder for this process; a lock of a dead process is taken over.
 *
 * @throws {PostgresStartError} `data-folder-in-use` when a living process holds it;
 *   `data-folder-unusable` when nothing can be written beside it.
 */
export async function takeDataLock(dataDir: string): Promise<DataLock> {
  const file = `${dataDir}.lock`;
  const draft = `${file}.${process.pid}`;
  const self: Owner = { pid: process.pid, startedAt: processStart(process.pid) ?? '' };
  await writeFile(draft, JSON.stringify(self)).catch((cause: unknown) => {
    throw new PostgresStartError(
      'data-folder-unusable',
      `Could not write ${draft}, beside the data of Postgres. Give this user the right to write there, or choose another folder.`,
      { cause },
    );
  });
  try {
    let ownerDied = false;
    // A link appears whole or not at all, so nobody reads a half-written lock.
    while (!(await linked(draft, file))) {
      const owner = await readOwner(file);
      if (owner !== undefined && processStart(owner.pid) === owner.startedAt) {
        throw new PostgresStartError(
          'data-folder-in-use',
          `Process ${owner.pid} already runs a Postgres on ${dataDir}. ` +
            `Stop that process first (Ctrl-C where it runs, or \`kill ${owner.pid}\`).`,
        );
      }
      ownerDied = true;
      await rm(file, { force: true });
    }
    return { ownerDied, release: () => rm(file, { force: true }) };
  } finally {
    await rm(draft, { force: true });
  }
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
