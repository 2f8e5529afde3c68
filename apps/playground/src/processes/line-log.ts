import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs';

const LAST_LINES = 20;
/** Where the last lines are looked for. */
const TAIL_BYTES = 16 * 1024;
const OWNER_ONLY = 0o600;

/** A program's log: a file, begun anew at each start. */
export interface LineLog {
  readonly file: string;
  /** For a child that writes to it by itself: it then depends on no reader, not even on us. */
  readonly descriptor: number;
  write(line: string): void;
  lastLines(): string[];
  close(): void;
}

export function openLineLog(file: string): LineLog {
  const { O_RDWR, O_CREAT, O_TRUNC, O_APPEND } = constants;
  const descriptor = openSync(file, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, OWNER_ONLY);
  let open = true;
  return {
    file,
    descriptor,
    write(line) {
      if (open) writeSync(descriptor, `${line}\n`);
    },
    lastLines: () => (open ? readTail(descriptor) : []),
    close() {
      if (open) closeSync(descriptor);
      open = false;
    },
  };
}

function readTail(descriptor: number): string[] {
  const size = fstatSync(descriptor).size;
  const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
  const read = readSync(descriptor, tail, 0, tail.length, size - tail.length);
  const lines = tail.toString('utf8', 0, read).split('\n');
  return lines.filter((line) => line.trim() !== '').slice(-LAST_LINES);
}
