import { schema } from '@ghost/db';
import { sql } from 'drizzle-orm';

const { deliveryJob: job } = schema;

/** `JobNow` but for {@link IN_FLIGHT}, for a statement that reads or joins a job. Its first column is never null: see `LANE_COLUMNS`. */
export const JOB_COLUMNS = {
  status: job.status,
  lastError: job.lastError,
  attempts: job.attempts,
  runAt: job.runAt,
  expiresAt: job.expiresAt,
};

/** No column of it: Drizzle would take it for one that is never null, in a job that may be absent. */
export const IN_FLIGHT = sql<boolean>`coalesce(${job.leaseUntil} > now(), false)`;
