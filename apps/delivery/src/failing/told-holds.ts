/** What an owner can mend. Of a secret that our keys do not open each owner would get a mail, and could do nothing. */
export const TOLD_HOLD_REASONS: readonly string[] = ['gone', 'forbidden_address', 'invalid_url'];
