import { fileURLToPath } from 'node:url';

import { startProcess } from '../processes.js';
import type { Stops } from '../stops.js';

/** Job id, key of its path, `Date.now()` when the last byte had come, in flight of that key with it. */
export type Arrival = [id: string, key: string, at: number, inFlight: number];

export interface ReceiverReport {
  arrivals: Arrival[];
  /** Requests whose job had come before, since the receiver started. */
  repeats: number;
  /** Most in flight at once, by key. */
  peaks: Record<string, number>;
}

/** A receiver that costs little, in a process of its own. */
export interface LoadReceiver {
  readonly pid: number;
  /** A place that answers 200 after that time. */
  after(ms: number, key: string): string;
  /** A place that accepts and never answers. */
  never(key: string): string;
  report(): Promise<ReceiverReport>;
  /** How many requests came. */
  count(): Promise<number>;
  /** Forgets what came, and not which jobs came. */
  forget(): Promise<void>;
}

const ENTRY = fileURLToPath(new URL('./receiver-process.js', import.meta.url));

export async function startLoadReceiver(stops: Stops): Promise<LoadReceiver> {
  const running = await startProcess({ name: 'receiver', entry: ENTRY, ready: /^receiver on/u });
  stops.add(() => running.stop());
  const line = await running.waitForLine(/^receiver on \d+/u);
  const base = `http://127.0.0.1:${line.split(' ').at(-1)}`;
  return {
    pid: running.pid,
    after: (ms, key) => `${base}/after/${ms}/${key}`,
    never: (key) => `${base}/never/${key}`,
    report: async () => (await (await fetch(`${base}/report`)).json()) as ReceiverReport,
    count: async () => Number(await (await fetch(`${base}/count`)).text()),
    forget: async () => {
      await (await fetch(`${base}/report`, { method: 'DELETE' })).text();
    },
  };
}
