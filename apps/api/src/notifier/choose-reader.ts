import { assertNever } from '@ghost/contract';

import type { Candidate } from './audience.js';

/** Why a person gets the mail, the strongest first; it is in the mail's foot and `X-Ghost-Reason`. */
export type ReaderReason = 'author' | 'participant' | 'subscribed' | 'watching';

/** Why a person who follows the thread gets none; the code is in `fanout_skip`. */
export type ReaderSkip = 'actor' | 'no_access' | 'ignored' | 'muted' | 'unverified' | 'suppressed';

export type ReaderChoice = { mail: ReaderReason } | { skip: ReaderSkip };

/** Decides on one candidate. A person's own no (ignored, muted) outweighs every reason for a mail. */
export function chooseReader(candidate: Candidate, actorId: number): ReaderChoice {
  if (candidate.accountId === actorId) return { skip: 'actor' };
  if (!candidate.mayRead) return { skip: 'no_access' };
  if (candidate.ignored) return { skip: 'ignored' };
  if (candidate.muted) return { skip: 'muted' };
  if (!candidate.verified) return { skip: 'unverified' };
  if (candidate.suppressed) return { skip: 'suppressed' };
  return { mail: strongestReason(candidate) };
}

function strongestReason({ participation }: Candidate): ReaderReason {
  switch (participation) {
    case 'author':
    case 'participant':
      return participation;
    case 'manual':
      return 'subscribed';
    case null:
      return 'watching';
    default:
      return assertNever(participation);
  }
}
