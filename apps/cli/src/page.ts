import { type Command, InvalidArgumentError } from 'commander';

import { MAX_LISTED, readLimit } from './read-limit.js';

const DEFAULT_LISTED = 50;
// More digits are no number that JavaScript can hold.
const ID = /^[1-9]\d{0,14}$/u;

/** What every list of rows with ids takes. */
export interface Paging {
  after?: number;
  limit: number;
  json?: boolean;
}

export interface Page<Row> {
  rows: Row[];
  /** How to get at what comes next; undefined when that was all. */
  more: string | undefined;
}

export function addPaging(command: Command): Command {
  return command
    .option('--limit <n>', `at most so many, up to ${MAX_LISTED}`, readLimit, DEFAULT_LISTED)
    .option('--after <id>', 'go on after this one, the last that was listed', readId)
    .option('--json', 'print JSON');
}

/** Reads one page, and looks whether anything comes after it. */
export async function pageOf<Row extends { id: number }>(
  { after, limit }: Paging,
  read: (part: { after?: number; limit: number }) => Promise<Row[]>,
): Promise<Page<Row>> {
  const rows = await read({ limit, ...(after === undefined ? {} : { after }) });
  const last = rows.at(-1);
  if (!last || rows.length < limit) return { rows, more: undefined };
  const next = await read({ after: last.id, limit: 1 });
  return { rows, more: next.length === 0 ? undefined : `more: --after ${last.id}` };
}

/** For lists that cannot be gone on with: what to say when the limit may have cut them. */
export function perhapsMore(rows: readonly unknown[], limit: number): string | undefined {
  if (rows.length < limit) return undefined;
  return limit < MAX_LISTED ? `more, if there are any: --limit ${MAX_LISTED}` : 'there may be more';
}

/** Reads the id of a row. */
export function readId(text: string): number {
  if (ID.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number, as the lists show it.');
}
