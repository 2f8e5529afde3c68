import path from 'node:path';

import { EXIT, type Settings } from '@ghost/settings';

import { ChildDiedError, launchChild, untilReady } from '../processes/children.js';
import { isFree, LOOPBACK } from '../embedded/ports.js';
import { portTaken } from './port-taken.js';
import { childEnvironments, listenHost, reachableHost, type Wiring } from './environment.js';
import { type LineLog, openLineLog } from '../processes/line-log.js';
import type { StartParts } from './start-parts.js';

const API_ENTRY = new URL('../../../api/dist/main.js', import.meta.url);
const DELIVERY_ENTRY = new URL('../../../delivery/dist/main.js', import.meta.url);

/** Starts the API and the delivery process as they are run for real, and waits until both can work. */
export async function startChildren(
  parts: StartParts,
  settings: Settings<'playground'>,
  logs: string,
  wiring: Wiring,
): Promise<{ apiUrl: string; deliveryUrl: string }> {
  const environments = childEnvironments(parts.env, wiring);
  const apiUrl = `http://${reachableHost(listenHost(parts.env))}:${wiring.apiPort}`;
  const deliveryUrl = `http://${LOOPBACK}:${wiring.deliveryPort}`;
  // The one launched last is stopped first; they get ready side by side.
  const delivery = startChild(parts, settings, {
    name: 'delivery',
    entry: DELIVERY_ENTRY,
    env: environments.delivery,
    readyUrl: `${deliveryUrl}/readyz`,
    logFile: path.join(logs, 'delivery.log'),
  });
  const api = startChild(parts, settings, {
    name: 'API',
    entry: API_ENTRY,
    env: environments.api,
    readyUrl: `${apiUrl}/readyz`,
    logFile: path.join(logs, 'api.log'),
  });
  await parts.step('Starting the delivery process and the API', () => Promise.all([delivery, api]));
  return { apiUrl, deliveryUrl };
}

interface ChildParts {
  name: string;
  entry: URL;
  env: Record<string, string>;
  readyUrl: string;
  logFile: string;
}

async function startChild(
  { halt, stack, onChild }: StartParts,
  settings: Settings<'playground'>,
  { name, entry, env, readyUrl, logFile }: ChildParts,
): Promise<void> {
  const log: LineLog = openLineLog(logFile);
  const child = launchChild({ name, entry, env, log, graceMs: settings.shutdownGraceMs });
  onChild(child);
  let stopping = false;
  stack.add(name, async () => {
    stopping = true;
    await child.stop();
    log.close();
  });
  try {
    await untilReady(child, { readyUrl, log, signal: halt.signal });
  } catch (error) {
    const port = Number(new URL(readyUrl).port);
    const died = error instanceof ChildDiedError && error.end.code === EXIT.unavailable;
    throw died && !(await isFree(port)) ? portTaken(port, error) : error;
  }
  void child.ended.then((end) => {
    if (stopping) return;
    halt.stop({ kind: 'failed', error: new ChildDiedError(name, end, log.lastLines()) });
  });
}
