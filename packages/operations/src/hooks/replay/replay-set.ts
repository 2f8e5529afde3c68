import type { Sql } from '@ghost/queue';

import type { JobStatus } from '../../delivery-row.js';
import { ReplayError } from './replay-error.js';

/**
 * What a replay is of: `failed`: deliveries that were given up; `undelivered`: those that were cancelled too;
 * `all`: those that were delivered too.
 */
export const REPLAY_SETS = ['failed', 'undelivered', 'all'] as const;
export type ReplaySet = (typeof REPLAY_SETS)[number];

export const STATUSES_OF: Readonly<Record<ReplaySet, readonly JobStatus[]>> = {
  failed: ['dead'],
  undelivered: ['dead', 'cancelled'],
  all: ['dead', 'cancelled', 'delivered'],
};

/** Which deliveries of a hook: those that ended from `since` on and before `until`. */
export interface ReplayWish {
  which: ReplaySet;
  since: Date;
  /** Left out: now. */
  until?: Date | undefined;
}

export interface JudgedWish {
  which: ReplaySet;
  since: Date;
  until: Date;
}

/** By the status and the event type of what ended. */
export interface ReplayPreview extends JudgedWish {
  /** What would be sent again. */
  total: number;
  byStatus: Partial<Record<JobStatus, number>>;
  byEvent: Record<string, number>;
  /** What fits and is not sent again, by reason: `comment_deleted`. */
  leftOut: Record<string, number>;
}

interface CountRow {
  status: JobStatus;
  event: string | null;
  refused: string | null;
  jobs: string;
}

/**
 * Holds a wish against the database's clock and against how long deliveries are kept.
 * @throws ReplayError
 */
export async function judgeWish(
  sql: Sql,
  { which, since, until }: ReplayWish,
  retentionDays: number,
): Promise<JudgedWish> {
  // In milliseconds, as answers have it: who asks again with the same times means the same deliveries.
  const [clock] = await sql.query<{ now: Date; oldest: Date }>(
    `SELECT date_trunc('milliseconds', now()) AS now, retention_before($1) AS oldest`,
    [retentionDays],
  );
  if (clock === undefined) throw new Error('The database told no time');
  const { now, oldest } = clock;
  if (since >= now) throw new ReplayError('since_in_future', '"since" must be in the past.');
  if (since < oldest) {
    throw new ReplayError(
      'since_too_old',
      `"since" is too long ago: deliveries are kept for ${retentionDays} days: the earliest is ${oldest.toISOString()}.`,
    );
  }
  if (until !== undefined && until > now) {
    throw new ReplayError(
      'until_in_future',
      '"until" must not be in the future; left out, it is now.',
    );
  }
  if (until !== undefined && until <= since) {
    throw new ReplayError('until_before_since', '"until" must be after "since".');
  }
  return { which, since, until: until ?? now };
}

/** Counts what a replay would send again, and changes nothing. @throws ReplayError */
export async function previewReplay(
  sql: Sql,
  hookId: number,
  wish: ReplayWish,
  retentionDays: number,
): Promise<ReplayPreview> {
  const judged = await judgeWish(sql, wish, retentionDays);
  const rows = await sql.query<CountRow>(
    `SELECT status, event, refused, count(*) AS jobs FROM hook_replay_set($1, $2, $3, $4)
     GROUP BY status, event, refused ORDER BY jobs DESC, event, status`,
    [hookId, judged.since, judged.until, STATUSES_OF[judged.which]],
  );
  const preview: ReplayPreview = { ...judged, total: 0, byStatus: {}, byEvent: {}, leftOut: {} };
  for (const { status, event, refused, jobs } of rows) {
    const count = Number(jobs);
    if (refused !== null) {
      preview.leftOut[refused] = (preview.leftOut[refused] ?? 0) + count;
      continue;
    }
    const type = event ?? 'unknown';
    preview.total += count;
    preview.byStatus[status] = (preview.byStatus[status] ?? 0) + count;
    preview.byEvent[type] = (preview.byEvent[type] ?? 0) + count;
  }
  return preview;
}
