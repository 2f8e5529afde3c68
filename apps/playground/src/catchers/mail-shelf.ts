import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { inertLine } from '@ghost/operations';
import { simpleParser } from 'mailparser';

import { readFacts } from './mail-check.js';

/** The newest mails that are kept as files. */
export const MAX_FILES = 500;
const INDEX = 'index.txt';
/** Lines of mails that are gone; then the index is written anew. */
const MAX_STALE_LINES = 500;
const OWNER_ONLY = 0o600;
const FILE_SAFE = /[^A-Za-z0-9@._-]/gu;
const MAX_NAME_CHARACTERS = 100;
const NAME = /^(\d+)-.*\.eml$/u;

export interface NewMail {
  to: string;
  subject: string;
  raw: Buffer;
  at: Date;
}

/** Caught mails as files, with an index: a line each, the oldest first. */
export interface MailShelf {
  /** Writes the next file and removes the oldest when there are too many. Returns its path. */
  add(mail: NewMail): Promise<string>;
  /** Time, recipient, subject and file of each mail that is kept. */
  lines(): readonly string[];
  /** The bytes of a kept mail; undefined for any other name, so that no name is a path. */
  read(name: string): Promise<Buffer | undefined>;
}

/** Goes on counting where an earlier run stopped. */
export async function openMailShelf(folder: string): Promise<MailShelf> {
  const lines = await readLines(folder);
  let last = Math.max(0, ...[...lines.keys()].map(numberOf));
  let stale = 0;
  writeIndex(folder, lines);
  return {
    lines: () => [...lines.values()],
    read: async (name) => (lines.has(name) ? readFile(path.join(folder, name)) : undefined),
    async add(mail) {
      last += 1;
      const safe = mail.to.replaceAll(FILE_SAFE, '_').slice(0, MAX_NAME_CHARACTERS);
      const name = `${String(last).padStart(5, '0')}-${safe}.eml`;
      await writeFile(path.join(folder, name), mail.raw, { mode: OWNER_ONLY });
      const line = lineOf(mail, name);
      lines.set(name, line);
      appendFileSync(path.join(folder, INDEX), `${line}\n`, { mode: OWNER_ONLY });
      for (const oldest of [...lines.keys()].slice(0, Math.max(0, lines.size - MAX_FILES))) {
        lines.delete(oldest);
        stale += 1;
        await rm(path.join(folder, oldest), { force: true });
      }
      if (stale > MAX_STALE_LINES) {
        writeIndex(folder, lines);
        stale = 0;
      }
      return path.join(folder, name);
    },
  };
}

function lineOf({ at, to, subject }: Omit<NewMail, 'raw'>, name: string): string {
  return inertLine([at.toISOString(), to, JSON.stringify(subject), name].join('  '));
}

/** By the name of each file that is there; one that the index lacks is read. */
async function readLines(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile() && numberOf(entry.name) > 0)
    .map((entry) => entry.name)
    .toSorted((a, b) => numberOf(a) - numberOf(b));
  const index = await readFile(path.join(folder, INDEX), 'utf8').catch(() => '');
  const known = new Map(
    index.split('\n').map((line) => [line.slice(line.lastIndexOf('  ') + 2), line] as const),
  );
  const lines = new Map<string, string>();
  for (const name of names) {
    lines.set(name, known.get(name) ?? (await describeFile(folder, name)));
  }
  return lines;
}

async function describeFile(folder: string, name: string): Promise<string> {
  const file = path.join(folder, name);
  const facts = readFacts(await simpleParser(await readFile(file), { skipTextToHtml: true }));
  const { mtime } = await stat(file);
  return lineOf({ at: mtime, to: facts.to.join(', '), subject: facts.subject }, name);
}

function writeIndex(folder: string, lines: ReadonlyMap<string, string>): void {
  const draft = path.join(folder, `${INDEX}.new`);
  const text = [...lines.values()].map((line) => `${line}\n`).join('');
  writeFileSync(draft, text, { mode: OWNER_ONLY });
  renameSync(draft, path.join(folder, INDEX));
}

function numberOf(name: string): number {
  return Number(NAME.exec(name)?.[1] ?? 0);
}
