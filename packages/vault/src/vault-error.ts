export type VaultErrorCode = 'unknown_key' | 'tampered' | 'malformed';

/**
 * Why an envelope could not be opened. `unknown_key`: its key is not on the ring; `tampered`: the
 * key is there, but envelope, row, purpose or key material is not what it was sealed with;
 * `malformed`: not an envelope. Messages hold key ids at most.
 */
export class VaultError extends Error {
  readonly code: VaultErrorCode;

  constructor(code: VaultErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'VaultError';
    this.code = code;
  }
}
