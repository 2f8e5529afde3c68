import type { Logger } from 'pino';

import type { InHand } from './pump/in-hand.js';
import type { Pump } from './pump/pump.js';
import type { Settler } from './pump/settler.js';

/** Left of the grace period for writing down what was broken off. */
const WRITE_DOWN_MS = 2_000;
/** Closing connections waits for nobody longer than this: the process ends anyway. */
const CLOSE_MS = 1_000;

export interface ShutdownParts {
  pumps: readonly Pump[];
  inHand: InHand;
  settler: Settler;
  /** Connections and servers, in the order to close them. */
  closers: readonly (() => unknown)[];
  log: Logger;
}

/**
 * Stops in order: no new claims, a grace period for what is in flight, then it is broken off and
 * given back uncharged, outcomes are written, connections closed. Takes no longer than the grace
 * period, or 2 s where that is shorter.
 */
export async function shutDown(parts: ShutdownParts, graceMs: number): Promise<void> {
  const { pumps, inHand, settler, log } = parts;
  const startedAt = performance.now();
  const leftMs = (ofMs: number) => Math.max(0, startedAt + ofMs - performance.now());
  log.info({ event: 'delivery.stopping', inHand: inHand.size, graceMs });
  // A claim under way comes back first, or its jobs would wait for their lease to end.
  const claimed = Promise.all(pumps.map((pump) => pump.stop()));
  const finished = async (byMs: number) =>
    (await within(claimed, leftMs(byMs))) && inHand.empty(leftMs(byMs));
  if (!(await finished(graceMs - WRITE_DOWN_MS))) {
    // What a late claim still brings is given back too.
    inHand.stopAll('shutdown');
    const written = await finished(Math.max(graceMs, WRITE_DOWN_MS));
    if (!written) log.warn({ event: 'delivery.left_behind', jobs: inHand.size });
  }
  settler.stop();
  for (const close of parts.closers) {
    await within(Promise.resolve().then(close), CLOSE_MS).catch((error: unknown) =>
      log.warn({ event: 'delivery.close_failed', err: error }),
    );
  }
  log.info({ event: 'delivery.stopped', tookMs: Math.round(performance.now() - startedAt) });
}

/** Tells whether the work was done in time. */
async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([work.then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
}
