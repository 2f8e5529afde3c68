import { findProgram } from '../process/find-program.js';
import { startBundledReceiver } from './bundled-receiver.js';
import { startNginxReceiver } from './nginx-receiver.js';
import type { Receiver } from './receiver.js';

/** nginx where it is on PATH, or else the bundled one. */
export function startReceiver(folder: string): Promise<Receiver> {
  const nginx = findProgram('nginx');
  return nginx === null ? startBundledReceiver(folder) : startNginxReceiver(nginx, folder);
}
