/** What receivers answer to a signature that does not fit: Stripe's and Svix's examples 400, others 401 or 403. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403]);

export interface SecretHistory {
  /** Null while the hook has its first secret. */
  secretChangedAt: Date | null;
  /** Until then the one before signs, or signed, too. */
  oldSecretUntil: Date | null;
  /** The newest success of all; null when there was none. */
  lastSuccessAt: Date | null;
  /** The newest attempt; null when there was none. */
  last: { startedAt: Date; status: number | null } | null;
  githubSignature: boolean;
}

/**
 * A hint for the owner when the receiver seems to verify with the old secret; null when nothing points
 * to that. A receiver does not say which secret it has, so this is no more than a coincidence in time:
 * it took what was sent before the secret changed (or the old one ended), has taken nothing since, and
 * its newest answer is one that a signature which does not fit gets. See decision 0040.
 */
export function oldSecretHint(history: SecretHistory, now: Date): string | null {
  const { secretChangedAt, oldSecretUntil, lastSuccessAt, last } = history;
  if (secretChangedAt === null || oldSecretUntil === null) return null;
  if (last?.status == null || lastSuccessAt === null || !REFUSALS.has(last.status)) return null;
  const ended = oldSecretUntil <= now;
  const since = ended ? oldSecretUntil : secretChangedAt;
  if (lastSuccessAt >= since || last.startedAt < since) return null;
  const seen = `The endpoint answers ${last.status} and has taken nothing since ${since.toISOString()}, when `;
  if (ended) {
    return `${seen}the old secret ended. It seems to verify with the old one still: give it the new secret.`;
  }
  return `${seen}the secret was changed. Until ${oldSecretUntil.toISOString()} both secrets sign${
    history.githubSignature ? ', but x-hub-signature-256 holds the new one alone' : ''
  }: it seems to have the old one and to read the first signature only. Give it the new secret.`;
}
