import type { Pool } from '@ghost/db';
import type { Queue, Sql } from '@ghost/queue';
import type { Settings } from '@ghost/settings';
import type { Logger } from 'pino';

import type { ClaimGate } from '../pump/claim-gate.js';
import type { DatabaseState } from '../pump/database-state.js';
import type { InHand } from '../pump/in-hand.js';
import type { Settler } from '../pump/settler.js';
import type { Metrics } from '../status/metrics.js';

/** What both kinds of delivery share. */
export interface Core {
  settings: Settings<'delivery'>;
  log: Logger;
  pool: Pool;
  sql: Sql;
  queue: Queue;
  inHand: InHand;
  gate: ClaimGate;
  settler: Settler;
  database: DatabaseState;
  metrics: Metrics;
  /** What loads a part of this program goes through it. */
  loaded: <T>(work: Promise<T>) => Promise<T>;
  /** Run in order at the end. */
  closers: (() => unknown)[];
  /** Close connections that may be dead after a clock gap; the next use makes new ones. */
  renewals: (() => unknown)[];
  /** Wall clock, in milliseconds. */
  now: () => number;
  /** In milliseconds, and never set. */
  monotonic: () => number;
}
