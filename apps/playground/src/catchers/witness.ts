import type { CaughtMail } from './mail-catcher.js';
import type { StrayRequest } from './receiver.js';
import type { CaughtWebhook } from './inspect-webhook.js';

/** Hears of everything that left the system. */
export interface Observer {
  onMail(mail: CaughtMail): void;
  onWebhook(webhook: CaughtWebhook): void;
  onStray(stray: StrayRequest): void;
}

/** Keeps what came, by job. */
export interface Witness extends Observer {
  mailsOf(jobId: string): readonly CaughtMail[];
  webhooksOf(jobId: string): readonly CaughtWebhook[];
  /** Mails and requests so far. */
  readonly count: { mails: number; webhooks: number };
}

export function createWitness(): Witness {
  const mails = new Map<string, CaughtMail[]>();
  const webhooks = new Map<string, CaughtWebhook[]>();
  const count = { mails: 0, webhooks: 0 };
  return {
    count,
    onMail(mail) {
      count.mails += 1;
      append(mails, mail.jobId, mail);
    },
    onWebhook(webhook) {
      count.webhooks += 1;
      append(webhooks, webhook.deliveryId, webhook);
    },
    onStray: () => undefined,
    mailsOf: (jobId) => mails.get(jobId) ?? [],
    webhooksOf: (jobId) => webhooks.get(jobId) ?? [],
  };
}

function append<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
