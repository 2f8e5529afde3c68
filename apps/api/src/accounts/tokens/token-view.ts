import type { TokenRow } from '@ghost/operations';

import type { TokenAnswer } from './token-schemas.js';

export function tokenView({ id, label, scopes, createdAt, expiresAt }: TokenRow): TokenAnswer {
  return {
    id,
    label,
    scopes,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt?.toISOString() ?? null,
  };
}
