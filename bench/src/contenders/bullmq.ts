import { Queue } from 'bullmq';

import { inBatches } from '../load.js';
import type { Contender } from './contender.js';
import { startPeerWorker } from './peer-worker.js';

const QUEUE = 'deliver';

/** On Redis: told beside the others, and no bound is set by it. */
export const bullmq: Contender = {
  name: 'bullmq',
  store: 'redis',
  open: async (place) => {
    const url = place.redisUrl;
    if (url === null) throw new Error('BullMQ needs Redis.');
    const queue = new Queue(QUEUE, { connection: { url } });
    await queue.obliterate({ force: true });
    return {
      databaseUrl: null,
      preload: async (jobs) => {
        for (const batch of inBatches(jobs)) {
          await queue.addBulk(batch.map((data) => ({ name: QUEUE, data })));
        }
      },
      add: async (job) => void (await queue.add(QUEUE, job)),
      startWorker: (options) =>
        startPeerWorker('bullmq', place, { REDIS_URL: url }, options?.nodeFlags),
      close: async () => {
        await queue.obliterate({ force: true });
        await queue.close();
      },
    };
  },
};
