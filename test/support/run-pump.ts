import { createPool, DELIVERY_CHANNEL, Listener, type Pool } from '@ghost/db';
import type { Queue } from '@ghost/queue';
import { type Logger, pino } from 'pino';
import { onTestFinished } from 'vitest';

import { deliver, type DeliveryParts } from '../../apps/delivery/src/deliver.js';
import { ClaimGate } from '../../apps/delivery/src/pump/claim-gate.js';
import { DatabaseState } from '../../apps/delivery/src/pump/database-state.js';
import { InHand } from '../../apps/delivery/src/pump/in-hand.js';
import { LeaseKeeper } from '../../apps/delivery/src/pump/lease-keeper.js';
import { Pump, type PumpOptions } from '../../apps/delivery/src/pump/pump.js';
import { Settler } from '../../apps/delivery/src/pump/settler.js';
import { LOCK_WITHIN_MS } from '../../apps/delivery/src/rules/answer-within.js';
import { shutDown } from '../../apps/delivery/src/shutdown.js';

export const LEASE_MS = 30_000;
const MOST_BYTES = 64 * 1024 ** 2;

const monotonic = () => performance.now();

/** What a worker of a test stands on. */
export interface WorkerGround {
  url: string;
  name: string;
  pool: Pool;
  log: Logger;
  lines: Record<string, unknown>[];
  /** Wakes its pump, once there is one. */
  wake: () => void;
}

export function workerGround(url: string, name: string): WorkerGround {
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { level: 'debug' },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  const pool = createPool({
    ...{ connectionString: url, name, max: 5, onError: () => undefined },
    lockWithinMs: LOCK_WITHIN_MS,
  });
  return { url, name, pool, log, lines, wake: () => undefined };
}

export interface PumpWish extends Pick<PumpOptions, 'kind' | 'capacity' | 'claimWithinMs'> {
  mostBytes?: number;
  queue: Queue;
  leaseMs: number;
  /** Of a delivery all but what the pump itself has. */
  parts: Omit<DeliveryParts, 'inHand' | 'settler' | 'onSettled' | 'log'>;
  /** What is closed once nothing is sent any more. */
  closers: (() => unknown)[];
}

/** Runs the pieces of main.ts around what a test brings, until the test ends. */
export async function runPump(
  ground: WorkerGround,
  { queue, leaseMs, parts: own, closers, mostBytes = MOST_BYTES, ...wish }: PumpWish,
): Promise<{ inHand: InHand; stop: (graceMs?: number) => Promise<void> }> {
  const { url, name, pool, log } = ground;
  const database = new DatabaseState(log, monotonic);
  const inHand = new InHand();
  const settler = new Settler({ queue, database, now: () => Date.now(), log });
  const leases = new LeaseKeeper({ queue, inHand, leaseMs, monotonic, log });
  const parts: DeliveryParts = {
    ...{ ...own, inHand, settler, log },
    onSettled: (pending) => pump.settled(pending),
  };
  const pump: Pump = new Pump({
    ...{ ...wish, mostBytes, version: 1, queue, inHand, database, log },
    gate: new ClaimGate(inHand),
    writable: () => settler.writable(),
    deliver: (claim) => deliver(claim, parts),
  });
  ground.wake = () => pump.wake();
  const listener = new Listener({
    connectionString: url,
    channels: [DELIVERY_CHANNEL],
    name,
    heartbeatMs: 60_000,
    firstReconnectMs: 100,
    onWake: ground.wake,
    onProblem: () => undefined,
  });
  pump.start();
  await listener.start();
  let stopped = false;
  const stop = async (graceMs = 2_000) => {
    if (stopped) return;
    stopped = true;
    const all = [() => leases.stop(), ...closers, () => listener.stop(), () => pool.end()];
    await shutDown({ pumps: [pump], inHand, settler, closers: all, log }, graceMs);
  };
  onTestFinished(() => stop(0));
  return { inHand, stop };
}
