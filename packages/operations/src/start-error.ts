/** Why a process cannot start, for the person who started it: what, where, and what to do. */
export class StartError extends Error {
  override readonly name = 'StartError';
  /** The process's exit code (sysexits.h: 78 configuration, 69 something that must be there is not). */
  readonly exitCode: number;

  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
