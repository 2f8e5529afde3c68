import type { HeldMemory } from './collected-memory.js';
import type { RunningProcess } from './processes.js';
import { waitUntil } from './wait-until.js';

export const COLLECT_SIGNAL = 'SIGUSR2';
export const COLLECTED = 'test.collected';

/** Of the environment of a program of ours, outside of Vitest: it can be asked what it holds. */
export const COLLECTING: Readonly<Record<string, string>> = {
  NODE_OPTIONS: `--import ${new URL('collecting.js', import.meta.url).href}`,
};

/** Has a process that was started with {@link COLLECTING} collect its garbage, and tells what it holds then. */
export async function heldMemoryOf(running: RunningProcess): Promise<HeldMemory> {
  const said = () => running.lines().filter((line) => line.includes(COLLECTED));
  const before = said().length;
  process.kill(running.pid, COLLECT_SIGNAL);
  await waitUntil(() => said().length > before, { what: 'garbage to be collected' });
  return JSON.parse(said().at(-1) ?? '') as HeldMemory;
}
