/** Headers of every webhook request (names in lower case, as HTTP/1.1 compares them without case). */
export const HEADER = {
  event: 'x-ghost-event',
  delivery: 'x-ghost-delivery',
  hookId: 'x-ghost-hook-id',
  attempt: 'x-ghost-attempt',
  redelivery: 'x-ghost-redelivery',
  chain: 'x-ghost-chain',
  signature: 'x-ghost-signature',
  githubSignature: 'x-hub-signature-256',
  webhookId: 'webhook-id',
  webhookTimestamp: 'webhook-timestamp',
  webhookSignature: 'webhook-signature',
  traceparent: 'traceparent',
} as const;

/** The mail header that says why the reader got it. */
export const MAIL_REASON_HEADER = 'X-Ghost-Reason';
