import { PgBoss } from 'pg-boss';

import { inBatches } from '../load.js';
import { createDatabaseFrom, dropDatabase } from '../postgres.js';
import type { Contender } from './contender.js';
import { startPeerWorker } from './peer-worker.js';

const QUEUE = 'deliver';

export const pgBoss: Contender = {
  name: 'pg-boss',
  store: 'postgres',
  open: async (place) => {
    const databaseUrl = await createDatabaseFrom(place.postgresUrl, 'template0');
    // What supervises queues runs in the worker.
    const boss = new PgBoss({ connectionString: databaseUrl, supervise: false, schedule: false });
    boss.on('error', (error) => console.error(error));
    await boss.start();
    await boss.createQueue(QUEUE, { notify: true });
    return {
      databaseUrl,
      preload: async (jobs) => {
        for (const batch of inBatches(jobs)) {
          await boss.insert(
            QUEUE,
            batch.map((data) => ({ data })),
          );
        }
      },
      add: async (job) => void (await boss.send(QUEUE, job)),
      startWorker: (options) =>
        startPeerWorker('pg-boss', place, { DATABASE_URL: databaseUrl }, options?.nodeFlags),
      close: async () => {
        await boss.stop({ graceful: false });
        await dropDatabase(place.postgresUrl, databaseUrl);
      },
    };
  },
};
