import type { BenchJob } from '../load.js';
import type { Running } from '../process/start-process.js';
import type { ContenderName } from '../report/figures.js';

/** What a contender works in: a server that is there, and a folder of its own for logs. */
export interface Place {
  /** Of the Postgres server, with the database `postgres`. */
  postgresUrl: string;
  redisUrl: string | null;
  folder: string;
  receiverPort: number;
  hooks: number;
}

export interface Contender {
  readonly name: ContenderName;
  /** What it keeps its jobs in; `memory`: no queue at all. */
  readonly store: 'postgres' | 'redis' | 'memory';
  /** An empty queue. */
  open(place: Place): Promise<OpenQueue>;
}

/** A queue of its own for one round. */
export interface OpenQueue {
  /** The database, for what is done to all alike (statistics, checkpoint); null: not Postgres. */
  readonly databaseUrl: string | null;
  /** As fast as it can, in transactions of many jobs. */
  preload(jobs: readonly BenchJob[]): Promise<void>;
  /** One job in a transaction of its own; resolves when it is committed. */
  add(job: BenchJob): Promise<void>;
  startWorker(options?: { nodeFlags?: readonly string[] }): Promise<Running>;
  close(): Promise<void>;
}
