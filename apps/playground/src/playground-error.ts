/** Something that the person who started the playground must mend; the message says what and how. */
export class PlaygroundError extends Error {
  override readonly name = 'PlaygroundError';
  readonly exitCode: number;

  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
