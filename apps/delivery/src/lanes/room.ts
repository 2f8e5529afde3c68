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

interface Sending {
  claimed: Pick<ClaimedJob, 'kind' | 'slow' | 'ownerId' | 'host'>;
  /** That its content takes in memory. */
  bytes: number;
}

/** What contents may take in memory. */
export interface ByteBounds {
  most: number;
  /** Of a job to come, as far as one can know. */
  mean: number;
}

/**
 * The room that is left beside what is being sent: many lanes that are slow, of one owner or of one host
 * cannot fill what one of them cannot. Of slots and of bytes alike: who has as many bytes as its share gets no more jobs.
 *
 * @param slots - how many jobs of the kind may be sent at once in all
 */
export function roomBeside(
  sending: Iterable<Sending>,
  kind: JobKind,
  slots: number,
  { most, mean }: ByteBounds,
): Room {
  // Maps: an owner of a hook chooses its host's name, and `constructor` is something to an object already.
  const owners = new Map<number, number>();
  const hosts = new Map<string, number>();
  const ownerBytes = new Map<number, number>();
  let [all, allBytes, slow, slowBytes] = [0, 0, 0, 0];
  for (const { claimed, bytes } of sending) {
    if (claimed.kind !== kind) continue;
    all += 1;
    allBytes += bytes;
    if (claimed.slow) {
      slow += 1;
      slowBytes += bytes;
    }
    const { ownerId, host } = claimed;
    if (ownerId !== null) {
      owners.set(ownerId, (owners.get(ownerId) ?? 0) + 1);
      ownerBytes.set(ownerId, (ownerBytes.get(ownerId) ?? 0) + bytes);
    }
    if (host !== null) hosts.set(host, (hosts.get(host) ?? 0) + 1);
  }
  const ownerMost = shareOf(slots, OWNER_SHARE);
  for (const [owner, bytes] of ownerBytes) {
    if (bytes >= most * OWNER_SHARE) owners.set(owner, Math.max(ownerMost, owners.get(owner) ?? 0));
  }
  const within = (jobs: number, bytes: number) =>
    bytes <= 0 ? 0 : Math.max(0, Math.min(jobs, Math.max(1, Math.floor(bytes / mean))));
  return {
    jobs: within(slots - all, most - allBytes),
    slowJobs: within(shareOf(slots, SLOW_SHARE) - slow, most * SLOW_SHARE - slowBytes),
    shares: {
      ownerMost,
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
