import type { Contender } from './contender.js';
import { deliverySettings } from './ours.js';
import { startPeerWorker } from './peer-worker.js';

/** Our own client signing and sending without any queue: what the rest is measured against. */
export const raw: Contender = {
  name: 'raw',
  store: 'memory',
  open: async (place) => {
    let count = 0;
    return {
      databaseUrl: null,
      // It makes the same jobs itself.
      preload: async (jobs) => {
        count = jobs.length;
      },
      add: () => Promise.reject(new Error('The raw client has no queue.')),
      startWorker: (options) =>
        startPeerWorker(
          'raw',
          place,
          {
            ...deliverySettings('postgres://127.0.0.1/none'),
            JOBS: String(count),
            HOOKS: String(place.hooks),
            PORT: String(place.receiverPort),
          },
          options?.nodeFlags,
        ),
      close: async () => undefined,
    };
  },
};
