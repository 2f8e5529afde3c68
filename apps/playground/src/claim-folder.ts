import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { EXIT } from '@ghost/settings';

import { PlaygroundError } from './playground-error.js';

export const LOCK_FILE = 'playground.lock';
export const POSTGRES_FOLDER = 'postgres';
/** Says that a folder is a playground's: its names alone (logs, mails, keys) are anybody's. */
export const MARKER_FILE = 'ghost-playground.txt';

const MARKER = `The playground of Ghost keeps its things in this folder: "npm start -- --reset" throws them away.\n`;
const SHOWN_NAMES = 5;
const DEMO_FILE = /^demo(?:-[0-9a-f]+)?\.json$/u;
/** Of the key that the playground makes for itself. */
const OWN_KEY = /^playground:/u;

/**
 * Makes sure that a folder is the playground's before anything in it is touched: makes it, or takes an
 * empty one, and marks it. One of a version without the marker is known by what only it has.
 * @throws PlaygroundError for a folder with anything else in it; nothing is written there
 */
export async function claimFolder(folder: string): Promise<void> {
  const names = await makeAndList(folder);
  if (names.includes(MARKER_FILE)) return;
  const content = names.filter((name) => !isLock(name));
  if (content.length > 0 && !(await isEarlierPlayground(folder, names))) {
    throw new PlaygroundError(
      EXIT.failed,
      `${folder} holds what the playground did not make (${list(content)}): nothing there was touched. ` +
        'Choose a new or an empty folder: npm start -- --dir FOLDER\n' +
        `If it is a playground's all the same, tell it so: touch ${path.join(folder, MARKER_FILE)}`,
    );
  }
  try {
    await writeFile(path.join(folder, MARKER_FILE), MARKER);
  } catch (cause) {
    throw unusable(folder, cause);
  }
}

/** Of the folder's lock or that of the data in it: made by who starts at the same moment, or died. */
export function isLock(name: string): boolean {
  return name.startsWith(LOCK_FILE) || name.startsWith(`${POSTGRES_FOLDER}.lock`);
}

async function makeAndList(folder: string): Promise<string[]> {
  try {
    await mkdir(folder, { recursive: true });
    return (await readdir(folder)).toSorted();
  } catch (cause) {
    throw unusable(folder, cause);
  }
}

function unusable(folder: string, cause: unknown): PlaygroundError {
  return new PlaygroundError(
    EXIT.failed,
    `Could not make the folder ${folder}. Choose one that you may write to: npm start -- --dir FOLDER`,
    { cause },
  );
}

async function isEarlierPlayground(folder: string, names: readonly string[]): Promise<boolean> {
  const read = (...file: string[]) =>
    readFile(path.join(folder, ...file), 'utf8').catch(() => undefined);
  if (OWN_KEY.test((await read('keys')) ?? '')) return true;
  for (const name of names.filter((one) => DEMO_FILE.test(one))) {
    if (isDemoState((await read(name)) ?? '')) return true;
  }
  return names.includes(LOCK_FILE) && (await read(POSTGRES_FOLDER, 'PG_VERSION')) !== undefined;
}

function isDemoState(text: string): boolean {
  try {
    const state: unknown = JSON.parse(text);
    return ['tokens', 'secrets', 'receiverPort'].every((field) => field in Object(state));
  } catch {
    return false;
  }
}

function list(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN_NAMES).join(', ');
  return names.length > SHOWN_NAMES ? `${shown}, …` : shown;
}
