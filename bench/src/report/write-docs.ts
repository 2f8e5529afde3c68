import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { type Check, sentenceOf } from './judge.js';

const DOCS = path.resolve(import.meta.dirname, '../../docs');
const START = '<!-- bench: written by npm run bench -- --docs -->';
const END = '<!-- bench: end -->';

export interface DocsParts {
  table: string;
  chart: string;
  about: string;
  checks: readonly Check[];
}

/** Writes the chart, and the table between its two marks in `docs/performance.md`. */
export async function writeDocs({ table, chart, about, checks }: DocsParts): Promise<void> {
  const file = path.join(DOCS, 'performance.md');
  const text = await readFile(file, 'utf8');
  const start = text.indexOf(START);
  const end = text.indexOf(END);
  if (start < 0 || end < start) throw new Error(`${file} has lost its marks ${START} and ${END}.`);
  const judged = checks.map((check) => `- ${sentenceOf(check).replace(/\s+/gu, ' ')}`).join('\n');
  const part = `${START}\n\n${about}:\n\n${table}\n\n${judged}\n\n`;
  await writeFile(file, text.slice(0, start) + part + text.slice(end));
  await writeFile(path.join(DOCS, 'performance.svg'), chart);
}
