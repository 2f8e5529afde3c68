import type { Consumer } from '@ghost/contract';
import type { Transaction } from '@ghost/db';
import type { NewJob } from '@ghost/queue';

/** A committed event as a consumer sees it. */
export interface FanoutEvent {
  id: string;
  type: string;
  version: number;
  repositoryId: number | null;
  /** Checked against its type by `publishEvent`, which is its only writer. */
  payload: unknown;
  createdAt: Date;
}

/** The start of one page of one consumer, held until its lease ends. */
export interface ClaimedProgress {
  event: FanoutEvent;
  consumer: Consumer;
  /** The fence: what this page writes counts only while the row still has it. */
  leaseNo: number;
  /** Starts since the last progress, this one included. */
  attempts: number;
  /** An earlier start of it died with its process. */
  suspect: boolean;
  cursor: string | null;
}

/** A target that gets nothing, and why; recorded for whoever asks. */
export interface SkippedTarget {
  targetKind: 'hook' | 'account';
  targetId: number;
  reason: string;
  /** Which of the reason's cases it was, in a word; for the sentence that people read. */
  detail?: string | null;
}

/** What one page of an audience becomes. */
export interface FanoutPage {
  jobs: NewJob[];
  skips: SkippedTarget[];
  /** Where the next page starts, in the consumer's own form; null: this was the last. */
  cursor: string | null;
}

/** A page for an event that means nothing to the consumer. */
export const NOTHING_TO_SEND: FanoutPage = { jobs: [], skips: [], cursor: null };

/**
 * A part of fan-out: turns one page of an event's audience into jobs, in the page's transaction. The
 * repository is locked FOR SHARE before it is called, so nobody loses access while the page is open.
 * Called again with the same cursor it must make jobs with the same keys.
 */
export interface FanoutConsumer {
  page(tx: Transaction, event: FanoutEvent, cursor: string | null): Promise<FanoutPage>;
}
