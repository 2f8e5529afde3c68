import { Logger, run } from 'graphile-worker';

import type { BenchJob } from '../load.js';
import { given, sayReady, stopBy } from './ready.js';
import { signedPost } from './signed-post.js';

/** As its page on performance advises: a local queue of 500 and completion in batches. */
const runner = await run({
  noHandleSignals: true,
  preset: {
    worker: {
      connectionString: given('DATABASE_URL'),
      concurrentJobs: 50,
      maxPoolSize: 52,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
      // It would write a line a job.
      logger: new Logger(() => () => undefined),
    },
  },
  taskList: { deliver: (payload) => signedPost(payload as BenchJob) },
});
stopBy(() => runner.stop());
sayReady();
