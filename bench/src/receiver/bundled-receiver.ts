import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';

import { loopbackHosts } from '../load.js';
import { entry } from '../entry.js';
import { startProcess } from '../process/start-process.js';
import type { Receipts, Receiver } from './receiver.js';

/** Starts the bundled receiver as a process of its own. */
export async function startBundledReceiver(folder: string): Promise<Receiver> {
  const logFile = path.join(folder, 'receiver.log');
  const running = await startProcess({
    name: 'The bundled receiver',
    command: [process.execPath, entry('receiver/bundled-process'), ...loopbackHosts()],
    logFile,
    ready: 'listening on',
    channel: true,
  });
  const { child } = running;
  /** One question at a time. */
  const ask = async (question: object): Promise<unknown> => {
    const answer = once(child, 'message');
    child.send(question);
    return ((await answer) as unknown[])[0];
  };
  return {
    kind: 'bundled (Node)',
    port: Number(/listening on (\d+)/u.exec(readFileSync(logFile, 'utf8'))?.[1]),
    pid: running.pid,
    reset: async ({ times }) => void (await ask({ ask: 'reset', times })),
    receipts: async () => (await ask({ ask: 'receipts' })) as Receipts,
    times: async () => new Map((await ask({ ask: 'times' })) as [string, number][]),
    stop: () => running.stop(),
  };
}
