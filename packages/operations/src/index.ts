export * from './accounts.js';
export { checkEmail, checkLogin, checkName } from './account-rules.js';
export { createToken, hashToken, TOKEN_PREFIX } from './api-token.js';
export {
  type DeliveryRow,
  JOB_STATUSES,
  type JobStatus,
  type Waiting,
} from './delivery-row.js';
export * from './database-trouble.js';
export * from './explain-event.js';
export * from './jobs.js';
export * from './key-check.js';
export * from './lanes.js';
export * from './outbox.js';
export * from './start-checks.js';
export * from './start-error.js';
export * from './status.js';
