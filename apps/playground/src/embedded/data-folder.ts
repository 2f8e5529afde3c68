import { chown, lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Launcher } from './launcher.js';
import { PostgresStartError } from './postgres-start-error.js';
import { collectLines, startFailure, whenEnded } from './program-output.js';

export const SUPERUSER = 'ghost';

/**
 * Makes sure that the folder holds the data of a Postgres and belongs to whom it shall run as. New
 * data is made in a folder beside and moved, so that an interrupted start leaves no half.
 *
 * @param options - `unsafe` skips the sync to disk, for tests; `during` is called around the making.
 * @throws {PostgresStartError} `data-folder-unusable`, `data-folder-foreign`, `initdb-failed`.
 */
export async function prepareData(
  launcher: Launcher,
  dataDir: string,
  { unsafe, during }: { unsafe: boolean; during: (work: () => Promise<void>) => Promise<void> },
): Promise<void> {
  const entries = await listIfAny(dataDir);
  if (entries.includes('PG_VERSION')) {
    await giveTo(launcher.dataOwner, dataDir);
    return;
  }
  if (entries.length > 0) {
    throw new PostgresStartError(
      'data-folder-foreign',
      `${dataDir} is not empty and holds no data of Postgres (no PG_VERSION). ` +
        'Choose another folder, or empty this one.',
    );
  }
  const fresh = `${dataDir}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { mode: 0o700 });
  await giveTo(launcher.dataOwner, fresh);
  await during(() => runInitdb(launcher, fresh, unsafe));
  await rename(fresh, dataDir);
}

async function listIfAny(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    if (isErrno(cause, 'ENOENT')) return [];
    throw new PostgresStartError(
      'data-folder-unusable',
      `Could not read the data folder ${folder}. Give this user access to it, or choose another.`,
      { cause },
    );
  }
}

/** Postgres wants to own its data; the way to start it may differ from that of the last start. */
async function giveTo(owner: number | undefined, folder: string): Promise<void> {
  if (owner === undefined || (await lstat(folder)).uid === owner) return;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    if (!entry.isSymbolicLink()) await chown(file, owner, owner);
  }
  // Last, as it is what says that all are done.
  await chown(folder, owner, owner);
}

async function runInitdb(launcher: Launcher, folder: string, unsafe: boolean): Promise<void> {
  const args = [
    `--pgdata=${folder}`,
    `--username=${SUPERUSER}`,
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--auth=trust',
    '--no-instructions',
    ...(unsafe ? ['--no-sync'] : []),
  ];
  const child = launcher.launch('initdb', args);
  const log = collectLines(child);
  const { code } = await whenEnded(child);
  if (code === 0) return;
  throw startFailure('initdb-failed', `Postgres could not make its data in ${folder}`, log, [
    'Make room on the disk and give this user the right to write there, then start again.',
  ]);
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
