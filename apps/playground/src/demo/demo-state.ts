import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { EXIT } from '@ghost/settings';
import { generateSecret } from '@ghost/signing';

import { PlaygroundError } from '../playground-error.js';

// Tokens and secrets: for the owner's eyes only.
const OWNER_ONLY = 0o600;

/** What must stay the same over restarts and is not in the database in clear. */
export interface DemoState {
  /** API tokens by login. */
  tokens: Record<string, string>;
  /** Signing secrets by the name of the demo's hook. */
  secrets: Record<string, string>;
  receiverPort: number | null;
  /** Ids of repositories whose people were set to watching or ignoring; from then on that is theirs. */
  watched: number[];
}

export interface DemoStateFile {
  readonly file: string;
  readonly state: DemoState;
  save(): Promise<void>;
  /** The secret of a demo hook, made at its first use. */
  secretOf(hook: string): string;
}

/**
 * Opens the demo's own file in the playground's folder; one a database, as ids and secrets of one
 * mean nothing in another.
 * @param databaseUrl - null for the embedded Postgres
 */
export async function openDemoState(
  folder: string,
  databaseUrl: string | null,
): Promise<DemoStateFile> {
  const file = path.join(folder, `demo${suffixOf(databaseUrl)}.json`);
  const state = await readState(file);
  return {
    file,
    state,
    async save() {
      const draft = `${file}.new`;
      await writeFile(draft, `${JSON.stringify(state, null, 2)}\n`, { mode: OWNER_ONLY });
      await rename(draft, file);
    },
    secretOf: (hook) => (state.secrets[hook] ??= generateSecret()),
  };
}

function suffixOf(databaseUrl: string | null): string {
  if (databaseUrl === null) return '';
  const { host, pathname } = new URL(databaseUrl);
  return `-${createHash('sha256').update(`${host}${pathname}`).digest('hex').slice(0, 8)}`;
}

async function readState(file: string): Promise<DemoState> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      return { tokens: {}, secrets: {}, receiverPort: null, watched: [] };
    }
    throw error;
  }
  const kept = parse(text, file);
  return {
    tokens: kept.tokens ?? {},
    secrets: kept.secrets ?? {},
    receiverPort: kept.receiverPort ?? null,
    watched: kept.watched ?? [],
  };
}

function parse(text: string, file: string): Partial<DemoState> {
  try {
    return JSON.parse(text) as Partial<DemoState>;
  } catch (cause) {
    throw new PlaygroundError(
      EXIT.failed,
      `${file} is damaged. Remove it (the demo then gets new tokens), or start anew: npm start -- --reset`,
      { cause },
    );
  }
}
