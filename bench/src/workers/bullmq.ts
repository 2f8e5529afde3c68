import { Worker } from 'bullmq';

import type { BenchJob } from '../load.js';
import { given, sayReady, stopBy } from './ready.js';
import { signedPost } from './signed-post.js';

/** Its documentation: between 100 and 300 for jobs that wait for the network. */
const CONCURRENCY = 100;

const worker = new Worker<BenchJob>('deliver', ({ data }) => signedPost(data), {
  connection: { url: given('REDIS_URL') },
  concurrency: CONCURRENCY,
  removeOnComplete: { count: 0 },
});
worker.on('error', (error) => console.error(error));
await worker.waitUntilReady();
stopBy(() => worker.close());
sayReady();
