/** Why the embedded Postgres could not be started. */
export type PostgresStartFailure =
  | 'unsupported-platform'
  | 'library-links'
  | 'no-usable-user'
  | 'data-folder-in-use'
  | 'data-folder-unusable'
  | 'data-folder-foreign'
  | 'port-taken'
  | 'initdb-failed'
  | 'stopped-while-starting'
  | 'not-ready-in-time'
  | 'leftover-not-stopped';

/** The embedded Postgres did not start. The message says what failed and what to do. */
export class PostgresStartError extends Error {
  override readonly name = 'PostgresStartError';
  readonly reason: PostgresStartFailure;

  constructor(reason: PostgresStartFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
