import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { chmod, cp, lstat, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { programPath } from './binaries.js';
import { isRunning } from './process-identity.js';
import { PostgresStartError } from './postgres-start-error.js';

/** Probes run `postgres --version`, which takes 10 ms; a slow disk may need a while. */
const PROBE_TIMEOUT_MS = 20_000;
const NOBODY_HINT =
  'It runs as the user nobody, who must be able to enter every folder above the data: move the project, or run as an ordinary user.';
const USUAL_NOBODY = 65534;
const COPY_PREFIX = 'ghost-postgres-';

/**
 * How Postgres, which refuses to run as root, is started:
 * - `plain`: as the ordinary user that we are.
 * - `namespace`: root, or a user without a name; a user namespace in which we are `nobody`. No
 *   copy, no chown.
 * - `capability`: root, namespaces blocked (Docker's default): as nobody, with the one capability
 *   to pass folders that only root may enter.
 * - `nobody`: root, neither possible: as nobody, from a copy of the programs in a readable folder.
 */
export type LauncherKind = 'plain' | 'namespace' | 'capability' | 'nobody';

export interface Launcher {
  readonly kind: LauncherKind;
  /** Who must own the data folder; undefined leaves it as it is. */
  readonly dataOwner: number | undefined;
  /** What to say beside a failure. */
  readonly hint: readonly string[];
  /** Starts one Postgres program in a session of its own, so that Ctrl-C does not reach it. */
  launch(program: 'initdb' | 'postgres', args: readonly string[]): ChildProcess;
  /** Removes what the launcher made. */
  dispose(): Promise<void>;
}

interface Wrapping {
  readonly command: readonly string[];
  readonly options: SpawnOptions;
  readonly dataOwner: number | undefined;
}

// A Postgres whose starter died must not live on: the kernel then sends it SIGINT (fast shutdown).
const DIE_WITH_PARENT = ['setpriv', '--pdeathsig', 'INT'] as const;

/** @param user - the uid of `nobody`, which Postgres runs as, or believes that it does. */
function wrappingOf(kind: LauncherKind, user: number): Wrapping {
  switch (kind) {
    case 'plain':
      return { command: DIE_WITH_PARENT, options: {}, dataOwner: undefined };
    case 'namespace': {
      const mapping = [`--map-user=${user}`, `--map-group=${user}`];
      return {
        command: ['unshare', '--user', ...mapping, ...DIE_WITH_PARENT],
        options: {},
        dataOwner: process.getuid?.(),
      };
    }
    case 'capability': {
      const identity = [`--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
      const rights = ['--inh-caps=-all,+dac_override', '--ambient-caps=-all,+dac_override'];
      return {
        command: [...DIE_WITH_PARENT, ...identity, ...rights],
        options: {},
        dataOwner: user,
      };
    }
    case 'nobody':
      return { command: DIE_WITH_PARENT, options: { uid: user, gid: user }, dataOwner: user };
  }
}

/** initdb wants its user to have a line in the list of users; `nobody` has one everywhere. */
async function unprivilegedUser(): Promise<number> {
  const lines = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const users = lines.split('\n').map((line) => line.split(':'));
  const uids = [users.find(([name]) => name === 'nobody'), ...users]
    .map((fields) => Number(fields?.[2]))
    .filter((uid) => uid > 0);
  return uids[0] ?? USUAL_NOBODY;
}

/** The ways worth a try, best first. */
function kindsHere(): readonly LauncherKind[] {
  if (process.getuid?.() === 0) return ['namespace', 'capability', 'nobody'];
  return hasName() ? ['plain'] : ['namespace', 'plain'];
}

/** False in a container that was given a number for a user (`docker run --user 1234`). */
function hasName(): boolean {
  try {
    userInfo();
    return true;
  } catch {
    return false;
  }
}

/**
 * Picks the first way to start Postgres that works on this machine (or tries only `wanted`).
 *
 * @param root - the folder that holds `bin/`, `lib/` and `share/`.
 * @throws {PostgresStartError} `no-usable-user` when none works.
 */
export async function chooseLauncher(root: string, wanted?: LauncherKind): Promise<Launcher> {
  for (const kind of wanted === undefined ? kindsHere() : [wanted]) {
    const launcher = await tryLauncher(kind, root);
    if (launcher !== undefined) return launcher;
  }
  throw new PostgresStartError(
    'no-usable-user',
    process.getuid?.() === 0
      ? 'Postgres refuses to run as root, and this machine allows neither a user namespace nor a change of user. ' +
          'Run as an ordinary user, or set DATABASE_URL to a Postgres 15 or newer.'
      : `The embedded Postgres in ${root} cannot be executed on this machine (it needs glibc). ` +
          'Set DATABASE_URL to a Postgres 15 or newer.',
  );
}

async function tryLauncher(kind: LauncherKind, root: string): Promise<Launcher | undefined> {
  const copy = kind === 'nobody' ? await copyPrograms(root) : undefined;
  const wrapping = wrappingOf(kind, await unprivilegedUser());
  const programs = copy ?? root;
  for (const command of [wrapping.command, ...withoutParentWatch(kind)]) {
    if (!probe(command, wrapping.options, programs)) continue;
    return {
      kind,
      dataOwner: wrapping.dataOwner,
      hint: kind === 'nobody' ? [NOBODY_HINT] : [],
      launch: (program, args) => {
        const [first, ...rest] = commandLine(command, programPath(programs, program), args);
        return spawn(first, rest, {
          ...wrapping.options,
          env: cleanEnvironment(),
          detached: true,
          stdio: ['ignore', 'pipe', 'pipe'],
        });
      },
      dispose: async () => {
        if (copy !== undefined) await rm(copy, { recursive: true, force: true });
      },
    };
  }
  if (copy !== undefined) await rm(copy, { recursive: true, force: true });
  return undefined;
}

/** macOS and small systems have no `setpriv`: there Postgres is started without it. */
function withoutParentWatch(kind: LauncherKind): (readonly string[])[] {
  return kind === 'plain' || kind === 'nobody' ? [[]] : [];
}

function probe(command: readonly string[], options: SpawnOptions, root: string): boolean {
  const [first, ...rest] = commandLine(command, programPath(root, 'postgres'), ['--version']);
  const { uid, gid } = options;
  const result = spawnSync(first, rest, {
    env: cleanEnvironment(),
    stdio: 'ignore',
    timeout: PROBE_TIMEOUT_MS,
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
  });
  return result.status === 0;
}

function commandLine(
  wrapping: readonly string[],
  program: string,
  args: readonly string[],
): [string, ...string[]] {
  const [first, ...rest] = wrapping;
  return first === undefined ? [program, ...args] : [first, ...rest, program, ...args];
}

/** Postgres reads PG* variables and the locale: it gets neither of ours. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' };
}

async function copyPrograms(root: string): Promise<string> {
  await removeOldCopies();
  const copy = await mkdtemp(path.join(tmpdir(), `${COPY_PREFIX}${process.pid}-`));
  await cp(root, copy, { recursive: true, verbatimSymlinks: true });
  await chmod(copy, 0o755);
  return copy;
}

/** A starter that was killed leaves its 60 MB behind; its pid is in the folder's name. */
async function removeOldCopies(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = Number(/^ghost-postgres-(\d+)-/.exec(name)?.[1]);
    if (Number.isNaN(pid) || isRunning(pid)) continue;
    const folder = path.join(tmpdir(), name);
    if ((await lstat(folder)).uid === process.getuid?.()) {
      await rm(folder, { recursive: true, force: true });
    }
  }
}
