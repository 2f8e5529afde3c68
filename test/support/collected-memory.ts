import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { residentBytes } from './resident-memory.js';

/** Finalizers and sockets that close want a turn of the loop between two collections. */
const BETWEEN_MS = 100;
const COLLECTIONS = 3;

/** What a process holds, in bytes. */
export interface HeldMemory {
  /** On the heap of JavaScript, and outside of it for its sake. */
  held: number;
  resident: number;
}

/** The memory of this process once all garbage was collected. */
export async function collectedMemory(): Promise<HeldMemory> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let n = 0; n < COLLECTIONS; n += 1) {
    collect();
    await delay(BETWEEN_MS);
  }
  const { heapUsed, external } = process.memoryUsage();
  return { held: heapUsed + external, resident: residentBytes(process.pid) };
}
