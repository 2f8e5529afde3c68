export type { WireBody } from './digest.js';
export { generateSecret, standardForm } from './secret-key.js';
export { signWebhook, type WebhookToSign } from './sign-webhook.js';
export {
  type ReceivedHeaders,
  type ReceivedWebhook,
  type VerificationCode,
  type VerifiedWebhook,
  verifyWebhook,
  WebhookVerificationError,
} from './verify-webhook.js';
