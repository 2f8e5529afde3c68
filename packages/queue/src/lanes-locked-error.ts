/**
 * Somebody else held a lane for longer than a statement waits, and nothing was done. What is of other lanes can be done
 * without those.
 */
export class LanesLockedError extends Error {
  override readonly name = 'LanesLockedError';
  /** Those that are held still; none where it was over meanwhile, or where a job is held and not its lane. */
  readonly lanes: ReadonlySet<string>;

  constructor(lanes: ReadonlySet<string>, cause: unknown) {
    super(`Waited too long for lanes that somebody holds: ${[...lanes].join(', ')}`, { cause });
    this.lanes = lanes;
  }
}
