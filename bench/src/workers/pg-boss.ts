import { PgBoss } from 'pg-boss';

import type { BenchJob } from '../load.js';
import { given, sayReady, stopBy } from './ready.js';
import { signedPost } from './signed-post.js';

/** As its documentation advises for a high rate: batches, several workers, LISTEN, no pause while batches are full. */
const BATCH_SIZE = 100;
const WORKERS = 4;

const boss = new PgBoss({ connectionString: given('DATABASE_URL'), useListenNotify: true });
boss.on('error', (error) => console.error(error));
await boss.start();
await boss.work(
  'deliver',
  {
    batchSize: BATCH_SIZE,
    localConcurrency: WORKERS,
    burstWhenBatchFull: true,
    pollingIntervalSeconds: 0.5,
    // One that fails must not fail its batch.
    perJobResults: true,
  },
  (jobs) =>
    Promise.all(
      jobs.map(async ({ id, data }) => {
        try {
          await signedPost(data as BenchJob);
          return { id, status: 'completed' as const };
        } catch (error) {
          return { id, status: 'failed' as const, output: { message: String(error) } };
        }
      }),
    ),
);
stopBy(() => boss.stop());
sayReady();
