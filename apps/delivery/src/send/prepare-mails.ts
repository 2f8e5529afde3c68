import type { ClaimedJob, Queue } from '@ghost/queue';

import type { Abort } from '../abort.js';
import { type EmailSenderOptions, sendEmail } from './email.js';
import type { Sent } from './sent.js';
import type { Suppressions } from '@ghost/operations';

export interface MailParts extends Omit<EmailSenderOptions, 'confirm'> {
  queue: Pick<Queue, 'confirm'>;
  suppressions: Suppressions;
  /** The return path of a mail of its own, by its job's id; left out: the one that fan-out gave it. */
  returnPath?: ((jobId: string) => string) | undefined;
}

/** Asks once a batch which addresses get no mail, and sends the others theirs. */
export function prepareMails({ queue, suppressions, returnPath, ...options }: MailParts) {
  return async (jobs: readonly ClaimedJob[]) => {
    const suppressed = await suppressions.among(jobs.map(recipientOf));
    return async (claimed: ClaimedJob, stop: Abort): Promise<Sent> => {
      const { job } = claimed;
      if (job.kind !== 'email') throw new Error(`Job ${claimed.id} is no mail`);
      if (suppressed.has(job.message.to.address.toLowerCase())) {
        return { outcome: { verdict: 'cancelled', reason: 'address_suppressed' } };
      }
      const confirm = () => queue.confirm(claimed);
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
