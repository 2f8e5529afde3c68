import { spawnSync } from 'node:child_process';
import { chown, mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type { Stops } from '../stops.js';
import { waitUntil } from '../wait-until.js';
import {
  type Fault,
  type FaultWorld,
  logged,
  nothingLost,
  startFaultWorld,
} from './fault-world.js';

const LANES = 50;
const JOBS_A_LANE = 40;
const JOBS = LANES * JOBS_A_LANE;
const DISK_MB = 64;
const CHUNK_BYTES = 1024 ** 2;
/** What no page of Postgres fits into. */
const LEAST_BYTES = 4096;
const FULL_MS = 5_000;
const SETTLE_WITHIN_MS = 60_000;
const DISK_FULL = '53100';

/** The tables are on a small disk that somebody else fills while calls are in flight, and frees later. */
export const diskFull: Fault = {
  name: 'no disk space for the tables',
  async *run(stops) {
    const disk = await mountDisk(stops);
    if ('fault' in disk) {
      yield {
        what: this.name,
        figure: 'not run',
        bound: `root may mount: ${disk.fault}`,
        ok: true,
      };
      return;
    }
    const world = await startFaultWorld(stops);
    const { seed, calls } = world;
    await moveTables(world, disk.folder);
    const hooks = await world.hooks(LANES);
    calls.hold();
    const worker = await world.deliver();
    for (let made = 0; made < JOBS_A_LANE; made += 1) await seed.webhooks(hooks);
    await waitUntil(() => calls.open() === LANES, { what: 'fifty calls in flight' });
    const ballast = path.join(disk.folder, 'ballast');
    await fill(ballast);
    calls.answer();
    await waitUntil(() => refusals(worker) > 0, {
      what: 'a statement to be refused',
      timeoutMs: 30_000,
    });
    await delay(FULL_MS);
    const { delivered } = await world.tally();
    await rm(ballast);
    const freedAt = performance.now();
    await world.settled(SETTLE_WITHIN_MS);
    const tookMs = Math.round(performance.now() - freedAt);
    yield nothingLost(this.name, JOBS, await world.tally());
    yield {
      what: 'delivered while it was full, called twice, ended after it was freed',
      figure: `${delivered}, ${calls.repeated()}, ${tookMs} ms`,
      bound: `< ${JOBS}, 0, ≤ 30,000 ms`,
      ok: delivered < JOBS && calls.repeated() === 0 && tookMs <= 30_000,
    };
  },
};

function refusals(worker: Parameters<typeof logged>[0]): number {
  return logged(worker, 'database.down').filter(({ err }) => codeOf(err) === DISK_FULL).length;
}

function codeOf(error: unknown): unknown {
  return Reflect.get(Object(error), 'code');
}

/** A file system of its own, if this user may make one. */
async function mountDisk(stops: Stops): Promise<{ folder: string } | { fault: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'ghost-prove-disk-'));
  stops.add(() => rm(folder, { recursive: true, force: true }));
  const options = ['-t', 'tmpfs', '-o', `size=${DISK_MB}m,mode=700`];
  const mounted = spawnSync('mount', [...options, 'tmpfs', folder], { encoding: 'utf8' });
  if (mounted.status !== 0) {
    return { fault: mounted.error?.message ?? mounted.stderr.trim() };
  }
  stops.add(() => spawnSync('umount', [folder]));
  return { folder };
}

async function moveTables({ database, seed }: FaultWorld, folder: string): Promise<void> {
  const owner = await stat(database.folder);
  await chown(folder, owner.uid, owner.gid);
  await seed.pool.query(`CREATE TABLESPACE small LOCATION '${folder}'`);
  await seed.pool.query('ALTER TABLE ALL IN TABLESPACE pg_default SET TABLESPACE small');
  await seed.pool.query('ALTER INDEX ALL IN TABLESPACE pg_default SET TABLESPACE small');
}

/** Writes until the disk has no room for another page. */
async function fill(file: string): Promise<void> {
  const handle = await open(file, 'w');
  try {
    for (let bytes = CHUNK_BYTES; bytes >= LEAST_BYTES; ) {
      const written = await handle.write(Buffer.alloc(bytes, 1)).then(
        ({ bytesWritten }) => bytesWritten,
        () => 0,
      );
      if (written < bytes) bytes /= 2;
    }
  } finally {
    await handle.close();
  }
}
