import type { DeliveryJob, JobKind, MailOwn } from '@ghost/contract';

/** A statement runner: a pooled client, a pool, or a Drizzle transaction wrapped by `sqlOf`. */
export interface Sql {
  query<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]>;
}

/** What many jobs of one event share; stored once an event and kind. */
export type NewContent =
  | { kind: 'webhook'; eventId: string; body: string }
  | { kind: 'email'; eventId: string; parts: unknown };

interface NewJobBase {
  /** uuid v7 made by the caller; for an idempotency key that exists it is dropped. */
  id: string;
  /** `email:<event>:<account>` or `webhook:<event>:<hook>`. */
  idempotencyKey: string;
  eventId: string | null;
  contentId: string;
  /** `hook:<id>`, `mail:<recipient domain>` or `mail:<domain>:bulk`. */
  lane: string;
  repositoryId: number | null;
  /** Wait before the first try. */
  delayMs?: number;
  /** Default: the current version. */
  version?: number;
}
export type NewJob = NewJobBase &
  (
    | {
        kind: 'webhook';
        hookId: number;
        /** `chain`: for `x-ghost-chain`. */
        own: { event: string; chain?: string };
        /** Whose hook it is: one owner's lanes share a part of a worker's slots. */
        ownerId?: number;
        /** Host of its URL: lanes of one host share their sends. */
        host?: string;
      }
    /** Null: to no account's address; it is sent whoever has it. */
    | { kind: 'email'; accountId: number | null; own: MailOwn }
  );

/** A job that a worker holds until its lease ends. */
export interface Lease {
  id: string;
  leaseNo: number;
  lane: string;
  version: number;
}

export interface ClaimedJob extends Lease {
  job: DeliveryJob;
  kind: JobKind;
  eventId: string | null;
  repositoryId: number | null;
  accountId: number | null;
  /** Charged tries of the current budget. */
  attempts: number;
  /** Charged tries ever; `x-ghost-attempt` is one more. */
  tries: number;
  redelivery: boolean;
  /** Wall clock of the database, milliseconds. */
  expiresAtMs: number;
  /** Its lane has no recent success. */
  slow: boolean;
  ownerId: number | null;
  host: string | null;
  /** When the lease ends on the worker's monotonic clock (`performance.now()`), counted from before the claim was sent. */
  leaseEndsAt: number;
}

/** A claimed row that is no valid job: our fault, never the receiver's. */
export interface UnreadableJob extends Lease {
  error: string;
}

/** What a worker claims: others wait for one that knows them. */
export interface KnownJobs {
  kind: JobKind;
  version: number;
}

export interface Capacity extends KnownJobs {
  /** At most so many jobs (1 to 500). */
  jobs: number;
  /** Look at most at so many due lanes, of proven and of slow ones each. */
  lanes: number;
  /** Of lanes without a recent success at most so many jobs; default: all. */
  slowJobs?: number;
  /** What one owner and one host may have in flight on this worker; default: no bound. */
  shares?: Shares;
  /** Only a job that must be claimed alone, as its workers died; the worker must hold nothing else. */
  alone?: boolean;
}

export interface Shares {
  ownerMost: number;
  hostMost: number;
  /** What the worker holds already, by owner's id and by host. */
  owners: Readonly<Record<string, number>>;
  hosts: Readonly<Record<string, number>>;
}

/** Milliseconds until something is due (0: now), or null when nothing is pending. */
export interface NextDue {
  /** What an ordinary claim may bring. */
  workMs: number | null;
  /** A job that must be claimed alone. */
  suspectMs: number | null;
}

export interface Claim {
  jobs: ClaimedJob[];
  unreadable: UnreadableJob[];
  /** Lanes that rest from now on, as a transaction that is open holds a job of them. */
  held: readonly string[];
  /** What the engine was told to read with the jobs, as it was once they were taken; null where it was told nothing. */
  beside: unknown;
}

/** The history row of a settled lease; every text is already storable. */
export interface AttemptRecord {
  startedAt: string;
  message?: string;
  status?: number;
  timings?: object;
  requestHead?: Record<string, string>;
  responseHead?: Record<string, string>;
  bodyExcerpt?: string;
}

export type SettledOutcome = 'delivered' | 'retry' | 'dead' | 'held' | 'cancelled' | 'relay_paused';

/** `timed_out` also takes back the slots that a lane has earned. */
export type LaneFault = 'failed' | 'timed_out';

/** What a worker reports of one lease. */
export interface Settlement extends Lease {
  outcome: SettledOutcome;
  reason: string | null;
  /** Whether the try counts against the job's budget. */
  charged: boolean;
  /** For `retry` and `relay_paused`: wait before the job is due again. */
  delayMs: number;
  /** Makes the whole lane wait (429, 503). */
  laneRestMs?: number;
  /** What it tells of its destination: enough of them in a row open the lane's breaker. */
  laneFault?: LaneFault;
  attempt: AttemptRecord | null;
}

export interface Settled {
  id: string;
  leaseNo: number;
  status: 'pending' | 'delivered' | 'dead' | 'cancelled';
}

export type CancelTarget =
  | { repositoryId: number; accountId: number }
  /** All that these events made. */
  | { eventIds: readonly string[] }
  | { jobIds: readonly string[] };

/** What was deleted: a hook, whose webhooks end, or a repository, whose mail does. */
export type DeletedTarget = { hookId: number } | { repositoryId: number };

/** What a step of {@link Queue.cancelSome} did. */
export interface CancelStep {
  cancelled: number;
  /** Of which: a lane, or `repository:<id>`; null where there was nothing to do. */
  target: string | null;
  /** Targets of which nothing is pending any more. */
  ended: string[];
  /** When the next step has something to do: 0 for now, null when nothing is left. */
  waitMs: number | null;
}

/** Why a mail must not go to its address any more; whoever holds the job cancels it with this reason. */
export type MailFault =
  | 'address_removed'
  | 'address_verified'
  | 'link_expired'
  | 'repository_deleted';

/** `lost`: the lease is not current any more, and the job is somebody else's or ended. */
export type Confirmation = 'current' | 'lost' | MailFault;

/** How long the relay rests from now on, and after how many faults in a row, of all workers. */
export interface RelayRest {
  failures: number;
  pauseMs: number;
}

/**
 * The queue. Verbs that take `tx` run in the caller's transaction, the others in one of their own;
 * none holds a connection while something is sent.
 */
export interface Queue {
  /** Stores content once an event and kind; returns its id, the first writer's if it was there. */
  storeContent(tx: Sql, content: NewContent): Promise<string>;
  /** Enqueues jobs whose key is new and wakes workers at commit. Once a transaction; last in it. Returns how many were new. */
  enqueue(tx: Sql, jobs: readonly NewJob[]): Promise<number>;
  claim(capacity: Capacity): Promise<Claim>;
  /**
   * Writes outcomes under the fence; an outcome whose lease was lost is missing from the answer.
   * @throws LanesLockedError, as `extend` and `release` do
   */
  settle(settlements: readonly Settlement[]): Promise<Settled[]>;
  /** Moves the ends of leases, never to an earlier time. Returns those of the given that are still held. */
  extend<L extends Lease>(leases: readonly L[]): Promise<Set<L>>;
  /** Gives jobs back, nothing charged. */
  release(leases: readonly Lease[]): Promise<number>;
  /** Whether a job may be sent now: asked just before a mail is handed over. */
  confirm(lease: Lease): Promise<Confirmation>;
  /**
   * When what the worker knows is due next.
   * @param options.slow - whether lanes without a recent success may be claimed now; default: yes
   * @param options.tidy - also puts emptied lanes to rest, for a worker that found no work; default: yes
   */
  nextDue(known: KnownJobs, options?: { slow?: boolean; tidy?: boolean }): Promise<NextDue>;
  /** Ends pending jobs whose reason is gone; a worker that holds one loses its fence. */
  cancel(tx: Sql, target: CancelTarget, reason: string): Promise<number>;
  /**
   * Sees to it that nothing pending of deleted targets is sent from the commit on, but for webhooks that a worker is sending,
   * and has it cancelled by {@link Queue.cancelSome}. Takes the same time however much it is. Nothing may be enqueued for them any more.
   */
  cancelLater(tx: Sql, targets: readonly DeletedTarget[], reason: string): Promise<void>;
  /** Cancels up to so many jobs of deleted targets; the lane of a hook goes with its last. In a transaction of its own. */
  cancelSome(sql: Sql, jobs: number): Promise<CancelStep>;
  hold(tx: Sql, lane: string, reason: string): Promise<void>;
  resume(tx: Sql, lane: string): Promise<boolean>;
  /** Sets how many jobs of a lane may be in flight at once, over all workers; null: the workers' default. */
  limit(tx: Sql, lane: string, slots: number | null): Promise<void>;
  /**
   * Bounds how many jobs of a lane are claimed in any minute, over all workers; null: no bound. A second's worth may go at
   * once, the others follow evenly.
   */
  limitRate(tx: Sql, lane: string, perMinute: number | null): Promise<void>;
  /** Same id, same bytes, a fresh budget. Returns the ids that are pending again. */
  redeliver(tx: Sql, jobIds: readonly string[]): Promise<string[]>;
  /**
   * Notes a fault of the SMTP relay: it rests, and no mail is claimed until then. While it rests already, further faults are the same one.
   * @param pausesMs - how long after its first fault in a row, its second and so on; the last for all further ones
   */
  pauseRelay(reason: string, pausesMs: readonly number[]): Promise<RelayRest>;
  /**
   * Takes the next turns of all workers' mails to the relay, `everyMs` apart; those that nobody uses are lost.
   * @param batchMs - how far ahead a worker takes them, `everyMs` at least
   * @returns in how many milliseconds the first of them is
   */
  takeRelayTurns(turns: number, everyMs: number, batchMs: number): Promise<number>;
  /** Makes room for the history of the days ahead; idempotent. */
  prepareHistory(): Promise<void>;
}
