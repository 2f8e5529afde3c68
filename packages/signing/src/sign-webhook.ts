import { digestText, type WireBody } from './digest.js';
import { signingKeys } from './signing-keys.js';

export type WebhookToSign = {
  /** The job's id: the same on every attempt. Without dots: they part what is signed. */
  id: string;
  /** Unix seconds of this attempt, never of the event: receivers refuse what is old. */
  timestamp: number;
  body: WireBody;
  /** Every live secret, the newest first; two while rotating. */
  secrets: readonly string[];
  /** Add GitHub's `x-hub-signature-256`, which carries one signature only: the first secret's. */
  github?: boolean;
};

/**
 * The signature headers of one attempt, names in lower case: Stripe's scheme as
 * `x-ghost-signature` (key: the secret's UTF-8 bytes), the Standard Webhooks trio (key: the bytes
 * behind `whsec_`), and on demand GitHub's. Throws when it could only sign wrongly: no secret, an
 * unreadable one, a timestamp that is not whole seconds, an id with a dot or blank. Messages
 * never hold a secret.
 */
export function signWebhook(webhook: WebhookToSign): Record<string, string> {
  const { id, timestamp, body, secrets, github = false } = webhook;
  if (secrets.length === 0)
    throw new TypeError('no secret given: a webhook is never sent unsigned');
  if (!Number.isSafeInteger(timestamp) || timestamp < 0) {
    throw new TypeError(`timestamp ${timestamp} is not whole seconds since 1970`);
  }
  if (!/^[!-~]+$/.test(id) || id.includes('.')) {
    throw new TypeError(`id ${JSON.stringify(id)} has a dot, a blank or no character`);
  }
  const keys = secrets.map((secret, index) => {
    const found = signingKeys(secret);
    if (found !== null) return found;
    throw new TypeError(`secret ${index + 1} is empty, or no base64 follows its whsec_`);
  });
  const ghost = keys.map((key) => digestText(key.ghost, `${timestamp}.`, body, 'hex'));
  const standard = keys.map((key) =>
    digestText(key.standard, `${id}.${timestamp}.`, body, 'base64'),
  );
  const headers: Record<string, string> = {
    'x-ghost-signature': [`t=${timestamp}`, ...ghost.map((hex) => `v1=${hex}`)].join(','),
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': standard.map((base64) => `v1,${base64}`).join(' '),
  };
  const [first] = keys;
  if (github && first) {
    headers['x-hub-signature-256'] = `sha256=${digestText(first.ghost, '', body, 'hex')}`;
  }
  return headers;
}
