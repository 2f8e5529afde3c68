import { bigint, integer, pgTable, primaryKey, uuid } from 'drizzle-orm/pg-core';

/**
 * What a replay has still to do with: targets that it did not come to yet, and, up to `hook_replay.reached`, those
 * that it made pending and that did not end since. A row goes when its target is counted. No foreign keys: a hook
 * with a million of them is deleted at once, and a job may be pruned meanwhile.
 */
export const hookReplayTarget = pgTable(
  'hook_replay_target',
  {
    replayId: bigint('replay_id', { mode: 'number' }).notNull(),
    /** From 1, without gaps, the oldest delivery first. */
    seq: integer('seq').notNull(),
    jobId: uuid('job_id').notNull(),
    /** When the replay was made: one that has another now was sent again meanwhile. */
    leaseNo: bigint('lease_no', { mode: 'number' }).notNull(),
  },
  (table) => [
    primaryKey({ name: 'hook_replay_target_pkey', columns: [table.replayId, table.seq] }),
  ],
);
