const HOUR_MS = 3_600_000;
/** The one that was good longest ago is forgotten first. 10,000 take about 2 MB. */
const MAX_REMEMBERED = 10_000;

/**
 * Remembers for an hour after its last good use whose token a hash is of. It lets nobody in – each
 * request looks its token up – but tells, without a look-up, whose count is full and who is no guesser.
 */
export class GoodTokens {
  // In the order of their last good use.
  private readonly known = new Map<string, { accountId: number; goodAt: number }>();
  private readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  /** Whose it was, when it was good within the hour. */
  accountOf(hash: string): number | null {
    const found = this.known.get(hash);
    if (found === undefined) return null;
    if (this.now() - found.goodAt < HOUR_MS) return found.accountId;
    this.known.delete(hash);
    return null;
  }

  remember(hash: string, accountId: number): void {
    this.known.delete(hash);
    this.known.set(hash, { accountId, goodAt: this.now() });
    if (this.known.size <= MAX_REMEMBERED) return;
    for (const oldest of this.known.keys()) {
      this.known.delete(oldest);
      return;
    }
  }

  /** It is good no more. */
  forget(hash: string): void {
    this.known.delete(hash);
  }
}
