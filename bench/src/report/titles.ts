import type { ContenderName } from './figures.js';

/** As people read them. */
export const TITLES: Record<ContenderName, string> = {
  ours: 'Ghost Delivery',
  'graphile-worker': 'graphile-worker',
  'pg-boss': 'pg-boss',
  bullmq: 'BullMQ (Redis)',
  raw: 'raw client, no queue',
};
