/** The time for an orderly end is over; `message` tells what had not ended. */
export class ShutdownError extends Error {
  override readonly name = 'ShutdownError';
}
