import { assertNever } from '@ghost/contract';

import { COMMENT_DELETED } from '../outbox/is-comment-gone.js';
import type { Candidate } from './audience.js';

/** Why a person gets the mail, the strongest first; it is in the mail's foot and `X-Ghost-Reason`. */
export type ReaderReason = 'mentioned' | 'author' | 'participant' | 'subscribed' | 'watching';

/** Why a person who follows the thread gets none; the code is in `fanout_skip`. */
export type ReaderSkip =
  | 'actor'
  | 'no_access'
  | 'ignored'
  | 'muted'
  | 'unverified'
  | 'suppressed'
  | typeof COMMENT_DELETED;

export type ReaderChoice = { mail: ReaderReason; address: string } | { skip: ReaderSkip };

/** What is the same for every reader of an event. */
export interface ReaderContext {
  actorId: number;
  /** The accounts that its text mentions. */
  mentioned: ReadonlySet<number>;
  commentGone: boolean;
}

/** Decides on one candidate. A person's own no (ignored, muted) outweighs every reason for a mail. */
export function chooseReader(candidate: Candidate, context: ReaderContext): ReaderChoice {
  if (candidate.accountId === context.actorId) return { skip: 'actor' };
  if (!candidate.mayRead) return { skip: 'no_access' };
  if (candidate.ignored) return { skip: 'ignored' };
  if (candidate.muted) return { skip: 'muted' };
  if (candidate.email === null || !candidate.verified) return { skip: 'unverified' };
  if (candidate.suppressed) return { skip: 'suppressed' };
  if (context.commentGone) return { skip: COMMENT_DELETED };
  const mentioned = context.mentioned.has(candidate.accountId);
  return { mail: mentioned ? 'mentioned' : ownReason(candidate), address: candidate.email };
}

function ownReason({ participation }: Candidate): ReaderReason {
  switch (participation) {
    case 'author':
    case 'participant':
      return participation;
    case 'mention':
      return 'mentioned';
    case 'manual':
      return 'subscribed';
    case null:
      return 'watching';
    default:
      return assertNever(participation);
  }
}
