import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { migrate } from '@ghost/db';
import { startPostgres } from '@ghost/playground/postgres';

import type { Stops } from '../../test/support/stops.js';
import type { Contender, Place } from './contenders/contender.js';
import { findProgram } from './process/find-program.js';
import { cpuMs } from './process/process-cost.js';
import type { Receiver } from './receiver/receiver.js';
import { startReceiver } from './receiver/start-receiver.js';
import { startRedis } from './redis.js';

/**
 * Durable, as it comes; only what happens at some moment of its own is kept out of a round: a
 * checkpoint for the size of the log. The same for all.
 */
const POSTGRES_SETTINGS = { max_wal_size: '8GB', checkpoint_timeout: '30min' };

export interface World {
  place: Place;
  receiver: Receiver;
  postgresVersion: string;
  storeCpuMs: (store: Contender['store']) => (() => number) | null;
}

/** Starts all that the contenders share; `stops` stops it and removes its files. */
export async function startWorld(stops: Stops, hooks: number, withRedis: boolean): Promise<World> {
  const folder = await mkdtemp(path.join(tmpdir(), 'ghost-bench-'));
  stops.add(() => rm(folder, { recursive: true, force: true }));
  const postgres = await startPostgres({
    dataDir: path.join(folder, 'postgres'),
    settings: POSTGRES_SETTINGS,
  });
  stops.add(() => postgres.stop());
  await migrate(postgres.url);
  const receiver = await startReceiver(folder);
  stops.add(() => receiver.stop());
  const program = withRedis ? findProgram('redis-server') : null;
  const redis = program === null ? null : await startRedis(program, folder);
  if (redis !== null) stops.add(() => redis.stop());
  const place: Place = {
    postgresUrl: new URL('postgres', postgres.url).href,
    redisUrl: redis?.url ?? null,
    folder,
    receiverPort: receiver.port,
    hooks,
  };
  return { place, receiver, postgresVersion: await versionOf(place), storeCpuMs };

  function storeCpuMs(store: Contender['store']): (() => number) | null {
    switch (store) {
      case 'postgres':
        return () => cpuMs(postgres.pid, true);
      case 'redis':
        return redis === null ? null : () => cpuMs(redis.pid);
      case 'memory':
        return null;
    }
  }
}

async function versionOf({ postgresUrl }: Place): Promise<string> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: postgresUrl });
  await client.connect();
  const { rows } = await client.query<{ server_version: string }>('SHOW server_version');
  await client.end();
  return rows[0]?.server_version ?? 'unknown';
}
