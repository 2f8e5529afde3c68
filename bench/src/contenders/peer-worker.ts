import path from 'node:path';

import { entry } from '../entry.js';
import { type Running, startProcess } from '../process/start-process.js';
import type { ContenderName } from '../report/figures.js';
import { READY } from '../workers/ready.js';
import type { Place } from './contender.js';

/** Starts `workers/<name>` on the bench's own Node. */
export function startPeerWorker(
  name: ContenderName,
  { folder }: Place,
  env: Readonly<Record<string, string>>,
  nodeFlags: readonly string[] = [],
): Promise<Running> {
  return startProcess({
    name,
    command: [process.execPath, ...nodeFlags, entry(`workers/${name}`)],
    env,
    logFile: path.join(folder, `${name}.log`),
    ready: READY,
  });
}
