import type { JobKind } from '@ghost/contract';
import type { ClaimedJob, Shares } from '@ghost/queue';

/**
 * Of a process's slots: lanes without a recent success together, and one owner's lanes together. With a half for the
 * former, 5,000 hooks that hang left the healthy ones 0.76 × of their throughput (bound 0.8).
 */
const SLOW_SHARE = 1 / 3;
const OWNER_SHARE = 1 / 4;
/** Sends at once to one host, by however many hooks. */
const HOST_MOST = 50;
/**
 * Of the connections to the relay: bulk mail of all domains together, as its lanes have one host. Without, a mail to 100,000 readers
 * of 50 domains left a domain that had none of them 1/51 of the relay: 4 s, alone 62 ms.
 */
const BULK_SHARE = 1 / 2;

/** What a process may claim now, of one kind. */
export interface Room {
  jobs: number;
  /** Of them of lanes without a recent success. */
  slowJobs: number;
  shares: Shares;
}

type Sending = Pick<ClaimedJob, 'kind' | 'slow' | 'ownerId' | 'host'>;

/**
 * The room that is left beside what is being sent: many lanes that are slow, of one owner or of one host
 * cannot fill what one of them cannot.
 *
 * @param slots - how many jobs of the kind may be sent at once in all
 */
export function roomBeside(sending: Iterable<Sending>, kind: JobKind, slots: number): Room {
  // Maps: an owner of a hook chooses its host's name, and `constructor` is something to an object already.
  const owners = new Map<number, number>();
  const hosts = new Map<string, number>();
  let all = 0;
  let slow = 0;
  for (const job of sending) {
    if (job.kind !== kind) continue;
    all += 1;
    if (job.slow) slow += 1;
    if (job.ownerId !== null) owners.set(job.ownerId, (owners.get(job.ownerId) ?? 0) + 1);
    if (job.host !== null) hosts.set(job.host, (hosts.get(job.host) ?? 0) + 1);
  }
  return {
    jobs: Math.max(0, slots - all),
    slowJobs: Math.max(0, shareOf(slots, SLOW_SHARE) - slow),
    shares: {
      ownerMost: shareOf(slots, OWNER_SHARE),
      hostMost: kind === 'email' ? shareOf(slots, BULK_SHARE) : HOST_MOST,
      owners: Object.fromEntries(owners),
      hosts: Object.fromEntries(hosts),
    },
  };
}

/** At least one, or a small process would never send to them. */
function shareOf(slots: number, share: number): number {
  return Math.max(1, Math.floor(slots * share));
}
