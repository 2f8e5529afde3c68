import type { AddressRow } from '@ghost/operations';

import type { EmailAnswer } from './email-schemas.js';

/** As GitHub: only the primary address has a visibility. */
export function emailView({ address, primary, verifiedAt }: AddressRow): EmailAnswer {
  return {
    email: address,
    primary,
    verified: verifiedAt !== null,
    visibility: primary ? 'private' : null,
  };
}
