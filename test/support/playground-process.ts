import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { REPOSITORY } from './ghost-processes.js';
import { type RunningProcess, startProcess } from './processes.js';

// The whole playground as it was built; `npm test` builds first.
const ENTRY = path.join(REPOSITORY, 'apps/playground/dist/main.js');

/** For a test that starts playgrounds: each takes seconds. */
export const PLAYGROUND_TIMEOUT_MS = 120_000;
/** The line that says it runs. */
export const RUNS = /Ctrl-C stops everything/u;

/** A folder of its own for the playgrounds of a test file, one after the other. */
export class PlaygroundFolder {
  readonly folder: string;
  readonly #args: readonly string[];

  private constructor(folder: string, args: readonly string[]) {
    this.folder = folder;
    this.#args = args;
  }

  /** @param args - of every start */
  static async create(...args: string[]): Promise<PlaygroundFolder> {
    return new PlaygroundFolder(await mkdtemp(path.join(tmpdir(), 'ghost-playground-')), args);
  }

  start(args: readonly string[] = [], env: Record<string, string> = {}): Promise<RunningProcess> {
    const all = ['--dir', this.folder, ...this.#args, ...args];
    return startProcess({ name: 'playground', entry: ENTRY, args: all, env });
  }

  /** Starts one and waits until it runs. */
  async run(): Promise<RunningProcess> {
    const playground = await this.start();
    await playground.waitForLine(RUNS, PLAYGROUND_TIMEOUT_MS);
    return playground;
  }

  /** The tokens of the demo's people, by login. */
  async tokens(): Promise<Record<string, string>> {
    const text = await readFile(path.join(this.folder, 'demo.json'), 'utf8');
    return (JSON.parse(text) as { tokens: Record<string, string> }).tokens;
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

export const textOf = (playground: RunningProcess) => playground.lines().join('\n');
export const exitCodeOf = async (playground: RunningProcess) => (await playground.exited).code;

/** Where the receiver of a playground listens, as its curl line says. */
export function receiverUrlOf(playground: RunningProcess): string {
  return printed(playground, /curl -X PUT (http:\S+)\/answer -d 410/u)[0];
}

/** Where its API listens. */
export function apiUrlOf(playground: RunningProcess): string {
  return printed(playground, /(http:\/\/127\.0\.0\.1:\d+)\/api\/repos/u)[0];
}

/** Does what its curl line does that posts a comment. */
export function postAsPrinted(playground: RunningProcess, comment: string): Promise<Response> {
  const [url, authorization] = printed(
    playground,
    /curl -X POST (\S+) \\\n[^']*'authorization: (Bearer \S+)' /u,
  );
  return fetch(url, {
    method: 'POST',
    headers: { authorization: authorization ?? '', 'content-type': 'application/json' },
    body: JSON.stringify({ body: comment }),
  });
}

/** What the groups of a pattern caught in all that was printed. */
function printed(playground: RunningProcess, pattern: RegExp): [string, ...string[]] {
  const [, first, ...more] = pattern.exec(textOf(playground)) ?? [];
  if (first !== undefined) return [first, ...more];
  throw new Error(`Nothing printed fits ${String(pattern)}:\n${textOf(playground)}`);
}
