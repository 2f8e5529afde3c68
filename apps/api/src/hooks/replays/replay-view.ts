import { assertNever } from '@ghost/contract';
import { REPLAY_SETS, type Replay, type ReplayPreview } from '@ghost/operations';
import * as z from 'zod';

const time = z.iso.datetime();
const counts = z.record(z.string(), z.int());

export const replayPreviewAnswer = z
  .object({
    which: z.enum(REPLAY_SETS),
    since: time,
    /** Give it with the replay, and it is of the same deliveries. */
    until: time,
    /** How many would be sent again. */
    total: z.int(),
    /** By what became of them: `dead`, `cancelled`, `delivered`. */
    by_status: counts,
    by_event: counts,
    /** What is not sent again, by reason: `comment_deleted`. */
    left_out: counts,
  })
  .meta({ id: 'HookReplayPreview' });
export type ReplayPreviewAnswer = z.infer<typeof replayPreviewAnswer>;

export const replayAnswer = z
  .object({
    id: z.int(),
    which: z.enum(REPLAY_SETS),
    since: time,
    until: time,
    /** Login of who started it; `operator` at the command line. */
    started_by: z.string(),
    created_at: time,
    /** `running`, `waiting`, `finishing` (all are pending or ended), `done` or `cancelled`. */
    state: z.enum(['running', 'waiting', 'finishing', 'done', 'cancelled']),
    /** What happens, in a sentence. */
    message: z.string(),
    /** Where each of `total` is: the others add up to it, `queued` apart. */
    progress: z.object({
      total: z.int(),
      /** Not made pending yet; of a cancelled replay: never. */
      remaining: z.int(),
      /** Made pending so far: pending, delivered, failed and cancelled. */
      queued: z.int(),
      pending: z.int(),
      delivered: z.int(),
      /** Given up again. */
      failed: z.int(),
      /** Cancelled after they were made pending. */
      cancelled: z.int(),
      /** Never made pending. */
      skipped: z.int(),
      /** Why: `pending`, `sent_meanwhile`, `comment_deleted`, `pruned` or `refused`. */
      skipped_by: counts,
    }),
    cancelled_at: time.nullable(),
    ended_at: time.nullable(),
  })
  .meta({ id: 'HookReplay' });
export type ReplayAnswer = z.infer<typeof replayAnswer>;

export function replayPreviewView(preview: ReplayPreview): ReplayPreviewAnswer {
  return {
    which: preview.which,
    since: preview.since.toISOString(),
    until: preview.until.toISOString(),
    total: preview.total,
    by_status: preview.byStatus,
    by_event: preview.byEvent,
    left_out: preview.leftOut,
  };
}

export function replayView(replay: Replay): ReplayAnswer {
  const { skippedBy, ...progress } = replay.progress;
  const queued = progress.pending + progress.delivered + progress.failed + progress.cancelled;
  return {
    id: replay.id,
    which: replay.which,
    since: replay.since.toISOString(),
    until: replay.until.toISOString(),
    started_by: replay.account,
    created_at: replay.createdAt.toISOString(),
    state: replay.state,
    message: sentenceOf(replay),
    progress: { ...progress, queued, skipped_by: skippedBy },
    cancelled_at: replay.cancelledAt?.toISOString() ?? null,
    ended_at: replay.endedAt?.toISOString() ?? null,
  };
}

function sentenceOf({ state, waitsFor, progress }: Replay): string {
  switch (state) {
    case 'running':
      return 'Deliveries are made pending as the hook takes them.';
    case 'waiting':
      if (waitsFor === null || waitsFor === 'inactive') {
        return 'The hook is not active: it goes on when somebody makes it so.';
      }
      return `It goes on when the hook is resumed. ${waitsFor.hold.message}`;
    case 'finishing':
      return `All were made pending; ${progress.pending} have the usual attempts before them.`;
    case 'done':
      return 'It is over.';
    case 'cancelled':
      return progress.pending === 0
        ? 'It was cancelled.'
        : `It was cancelled; ${progress.pending} that were pending already are sent.`;
    default:
      return assertNever(state);
  }
}
