import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';

import { EXIT } from '@ghost/settings';

import { isLock, MARKER_FILE, POSTGRES_FOLDER } from './claim-folder.js';
import { takeDataLock } from './embedded/data-lock.js';
import { sweepLeftovers } from './embedded/leftovers.js';
import { PlaygroundError } from './playground-error.js';

/** What any version of the playground makes in its folder, half-made things included. */
const OWN =
  /^(?:postgres(?:\.new)?|mails|logs|keys(?:\.new)?|demo(?:-[0-9a-f]+)?\.json(?:\.new)?)$/u;

export interface Cleared {
  removed: string[];
  /** Not the playground's: left where it is. */
  left: string[];
}

/**
 * Throws away what the playground keeps in a folder, whatever state it is in. Call it for a folder that
 * was claimed, while holding its lock: a Postgres that an earlier run left behind is stopped first.
 * @throws PlaygroundError when something cannot be removed
 */
export async function resetFolder(folder: string): Promise<Cleared> {
  const dataDir = path.join(folder, POSTGRES_FOLDER);
  const lock = await takeDataLock(dataDir);
  try {
    await sweepLeftovers(dataDir, lock.ownerDied);
    const cleared: Cleared = { removed: [], left: [] };
    for (const name of (await readdir(folder)).toSorted()) {
      if (OWN.test(name)) {
        await remove(path.join(folder, name));
        cleared.removed.push(name);
      } else if (!isLock(name) && name !== MARKER_FILE) {
        cleared.left.push(name);
      }
    }
    return cleared;
  } finally {
    await lock.release();
  }
}

async function remove(file: string): Promise<void> {
  try {
    await rm(file, { recursive: true, force: true });
  } catch (cause) {
    throw new PlaygroundError(
      EXIT.failed,
      `Could not remove ${file}: give this user the right to, or remove it by hand and start again.`,
      { cause },
    );
  }
}
