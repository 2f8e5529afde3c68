import { makeWorkerUtils } from 'graphile-worker';

import { inBatches } from '../load.js';
import { createDatabaseFrom, dropDatabase } from '../postgres.js';
import type { Contender } from './contender.js';
import { startPeerWorker } from './peer-worker.js';

const TASK = 'deliver';

export const graphileWorker: Contender = {
  name: 'graphile-worker',
  store: 'postgres',
  open: async (place) => {
    const databaseUrl = await createDatabaseFrom(place.postgresUrl, 'template0');
    const utils = await makeWorkerUtils({ connectionString: databaseUrl });
    await utils.migrate();
    return {
      databaseUrl,
      preload: async (jobs) => {
        for (const batch of inBatches(jobs)) {
          await utils.addJobs(batch.map((payload) => ({ identifier: TASK, payload })));
        }
      },
      add: async (job) => void (await utils.addJob(TASK, job)),
      startWorker: (options) =>
        startPeerWorker(
          'graphile-worker',
          place,
          { DATABASE_URL: databaseUrl },
          options?.nodeFlags,
        ),
      close: async () => {
        await utils.release();
        await dropDatabase(place.postgresUrl, databaseUrl);
      },
    };
  },
};
