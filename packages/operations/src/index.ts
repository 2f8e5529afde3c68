export * from './accounts.js';
export { AccountError, type AccountProblem } from './account-error.js';
export {
  areCancellationsLeft,
  type CancelledBehind,
  finishCancellations,
} from './cancelling/finish-cancellations.js';
export {
  checkEmail,
  checkOwnEmail,
  checkExpiry,
  checkLabel,
  checkLogin,
  checkName,
  checkScopes,
} from './account-rules.js';
export type { AddressRow } from './address-rows.js';
export * from './addresses.js';
export { createToken, hashToken, TOKEN_PREFIX } from './api-token.js';
export {
  type DeliveryRow,
  JOB_STATUSES,
  type JobStatus,
  type Waiting,
} from './delivery-row.js';
export * from './audit.js';
export * from './database-trouble.js';
export * from './explain-event.js';
export * from './hooks/change-hook.js';
export { refuseFutileFilters } from './hooks/futile-filters.js';
export * from './hooks/find-failing-hooks.js';
export * from './hooks/find-untold-holds.js';
export { HookError, type HookFault, type HookProblem } from './hooks/hook-error.js';
export * from './hooks/hook-hold.js';
export {
  DEFAULT_OVERLAP_HOURS,
  MAX_OVERLAP_HOURS,
  type Rotated,
  type Rotation,
  type SetSecret,
} from './hooks/hook-secrets.js';
export * from './hooks/hooks.js';
export * from './hooks/judge-failing-hook.js';
export * from './hooks/judge-hook.js';
export { oldSecretHint, type SecretHistory } from './hooks/old-secret-hint.js';
export * from './hooks/operate-hook.js';
export * from './hooks/replay/cancel-replay.js';
export * from './hooks/replay/operate-replay.js';
export * from './hooks/replay/read-replays.js';
export * from './hooks/replay/replay-error.js';
export * from './hooks/replay/replay-set.js';
export * from './hooks/replay/start-replay.js';
export * from './hooks/replay/step-replay.js';
export { setUpHook } from './hooks/set-up-hook.js';
export { inert, inertLine } from './inert.js';
export * from './jobs.js';
export { checkKeys, type KeyCheck, type UnreadableSecret } from './key-check.js';
export * from './lanes.js';
export { type AccountRef, type ChangeIn, findAccount, lockAccount } from './lock-account.js';
export * from './mail/apply-mail-report.js';
export * from './mail/list-suppressions.js';
export * from './mail/mail-sender.js';
export * from './mail/read-mail-report.js';
export * from './mail/suppressions.js';
export * from './mail/test-mail.js';
export * from './outbox.js';
export * from './repositories.js';
export { countPrunable } from './retention/count-prunable.js';
export { prune, type PruneCounts, type Pruned } from './retention/prune.js';
export * from './start-checks.js';
export * from './start-error.js';
export * from './status.js';
export {
  type AddedToken,
  addToken,
  listTokens,
  MAX_LIVE_TOKENS,
  type NewToken,
  revokeToken,
  type TokenList,
  type TokenRow,
} from './tokens.js';
