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
  /** Their own choice for all threads of this kind. */
  | 'unwanted'
  /** Only mentioned, and the author has mentioned too many others within the hour. */
  | 'mention_limit'
  | 'unverified'
  | 'suppressed'
  | typeof COMMENT_DELETED;

export type ReaderChoice =
  | { mail: ReaderReason; address: string; onlyMentioned: boolean }
  | { skip: ReaderSkip };

/** What is the same for every reader of an event. */
export interface ReaderContext {
  actorId: number;
  /** The accounts that its text mentions. */
  mentioned: ReadonlySet<number>;
  commentGone: boolean;
}

/** Decides on one candidate. A person's own no (ignored, muted, unwanted) outweighs every reason for a mail. */
export function chooseReader(candidate: Candidate, context: ReaderContext): ReaderChoice {
  const { wants } = candidate;
  if (candidate.accountId === context.actorId && !wants.ownActions) return { skip: 'actor' };
  if (!candidate.mayRead) return { skip: 'no_access' };
  if (candidate.ignored) return { skip: 'ignored' };
  if (candidate.muted) return { skip: 'muted' };
  const reason = reasonFor(candidate, context.mentioned.has(candidate.accountId));
  if (reason === null) return { skip: 'unwanted' };
  if (candidate.email === null || !candidate.verified) return { skip: 'unverified' };
  if (candidate.suppressed) return { skip: 'suppressed' };
  if (context.commentGone) return { skip: COMMENT_DELETED };
  return {
    mail: reason,
    address: candidate.email,
    onlyMentioned: isOnlyMentioned(candidate, reason),
  };
}

/** The strongest that they want mail for; null: none. */
function reasonFor(candidate: Candidate, mentioned: boolean): ReaderReason | null {
  const { watching, wants } = candidate;
  const takesPart = mentioned ? 'mentioned' : partOf(candidate);
  if (takesPart !== null && wants.participating) return takesPart;
  return watching && wants.watching ? 'watching' : null;
}

/** Nothing but being mentioned, now or before, brings them the mail. */
function isOnlyMentioned(
  { participation, watching, wants }: Candidate,
  reason: ReaderReason,
): boolean {
  const follows = watching && wants.watching;
  return (
    reason === 'mentioned' && !follows && (participation === null || participation === 'mention')
  );
}

function partOf({ participation }: Candidate): ReaderReason | null {
  switch (participation) {
    case 'author':
    case 'participant':
      return participation;
    case 'mention':
      return 'mentioned';
    case 'manual':
      return 'subscribed';
    case null:
      return null;
    default:
      return assertNever(participation);
  }
}
