import type { ClaimedJob, Queue } from '@ghost/queue';

import type { Abort } from '../abort.js';
import { type EmailSenderOptions, sendEmail } from './email.js';
import type { Sent } from './sent.js';
import { ADDRESS_SUPPRESSED } from './smtp-session.js';
import type { Suppressions } from '@ghost/operations';

/** What is known of suppressions is asked for again when it is older: a mail may wait for its turn at the relay for long. */
const FRESH_MS = 1_000;

export interface MailParts extends Omit<EmailSenderOptions, 'confirm'> {
  queue: Pick<Queue, 'confirm'>;
  suppressions: Suppressions;
  /** The return path of a mail of its own, by its job's id; left out: the one that fan-out gave it. */
  returnPath?: ((jobId: string) => string) | undefined;
  monotonic: () => number;
}

/** Asks once a batch which addresses get no mail, right before MAIL FROM again where that is long ago, and sends the others theirs. */
export function prepareMails({
  queue,
  suppressions,
  returnPath,
  monotonic,
  ...options
}: MailParts) {
  return async (jobs: readonly ClaimedJob[]) => {
    const askedAt = monotonic();
    const suppressed = await suppressions.among(jobs.map(recipientOf));
    const suppressedSince = async (address: string) =>
      monotonic() - askedAt > FRESH_MS && (await suppressions.among([address])).size > 0;
    return async (claimed: ClaimedJob, stop: Abort): Promise<Sent> => {
      const { job } = claimed;
      if (job.kind !== 'email') throw new Error(`Job ${claimed.id} is no mail`);
      if (suppressed.has(job.message.to.address.toLowerCase())) {
        return { outcome: { verdict: 'cancelled', reason: ADDRESS_SUPPRESSED } };
      }
      const confirm = async () =>
        (await suppressedSince(job.message.to.address))
          ? ADDRESS_SUPPRESSED
          : queue.confirm(claimed);
      const message = returnPath
        ? { ...job.message, envelopeFrom: returnPath(claimed.id) }
        : job.message;
      return sendEmail({ id: claimed.id, message }, { ...options, confirm }, stop.signal);
    };
  };
}

/** Whom a mail goes to; empty for what is no mail. */
export function recipientOf({ job }: ClaimedJob): string {
  return job.kind === 'email' ? job.message.to.address : '';
}
