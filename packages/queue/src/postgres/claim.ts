import type { DeliveryJob, JobKind } from '@ghost/contract';

import type { Capacity, Claim, ClaimedJob, Lease, Shares, Sql } from '../queue.js';

interface ClaimedRow {
  id: string;
  lane: string;
  lease_no: string;
  attempts: number;
  tries: number;
  redelivery: boolean;
  expires_ms: number;
  event_id: string | null;
  hook_id: string | null;
  repository_id: string | null;
  account_id: string | null;
  own: unknown;
  content_id: string;
  body: string | null;
  parts: unknown;
  facts: [slow: boolean, ownerId: number | null, host: string | null];
  beside?: unknown;
}

/** A lane that rests, as somebody holds a job of it. */
type HeldRow = Pick<ClaimedRow, 'lane' | 'beside'> & { id: null };
type Found = Claim & { held: string[] };

// Times as numbers: two parsed dates a job were 3 % of the CPU (measured).
const COLUMNS = `id, lane, lease_no, attempts, tries, redelivery, extract(epoch FROM expires_at)::float8 * 1000 AS expires_ms,
    event_id, hook_id, repository_id, account_id, own, content_id, body, parts, facts`;
const CALL = 'delivery_claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)';
const CLAIM = `SELECT ${COLUMNS} FROM ${CALL}`;
const NO_SHARES: Shares = { ownerMost: 1_000_000, hostMost: 1_000_000, owners: {}, hosts: {} };

/**
 * The same, and on its first row what a function says of the hooks of all. A function in FROM runs to its end before its
 * first row is read, so the other one, whose statements have snapshots of their own, sees what the claim did.
 */
function claimBeside(name: string): string {
  return `
  WITH claimed AS MATERIALIZED (SELECT * FROM ${CALL} WITH ORDINALITY)
  SELECT ${COLUMNS},
    CASE WHEN ordinality = 1 THEN (SELECT ${name}(ARRAY(SELECT c.hook_id FROM claimed c))) END AS beside
  FROM claimed`;
}

// The schemas are loaded with the first job: an idle process is smaller by 3.5 MB without zod (measured). Once, as each
// import() is resolved anew.
const loadFinish = () => import('./finish-job.js');
let finishing: ReturnType<typeof loadFinish> | undefined;

interface Limits {
  slots: number;
  leaseMs: number;
  /** See `PostgresQueueOptions`. */
  beside: string | undefined;
  /** Waits for no job that somebody holds. */
  careful: boolean;
}

/** Leases due jobs in one round trip and joins each with its shared content into a finished job. */
export async function claim(sql: Sql, capacity: Capacity, limits: Limits): Promise<Claim> {
  const askedAt = performance.now();
  const {
    kind,
    version,
    jobs,
    lanes,
    slowJobs = jobs,
    alone = false,
    shares = NO_SHARES,
  } = capacity;
  const { beside } = limits;
  const rows = await sql.query<ClaimedRow | HeldRow>(
    beside === undefined ? CLAIM : claimBeside(beside),
    [
      kind,
      version,
      jobs,
      slowJobs,
      alone,
      lanes,
      limits.slots,
      limits.leaseMs,
      shares.ownerMost,
      shares.hostMost,
      JSON.stringify({ owners: shares.owners, hosts: shares.hosts }),
      limits.careful,
    ],
  );
  const contents = new Map<string, ClaimedRow>();
  const found: Found = { jobs: [], unreadable: [], held: [], beside: rows[0]?.beside ?? null };
  if (rows.length === 0) return found;
  const { finish } = await (finishing ??= loadFinish());
  for (const row of rows) {
    if (row.id === null) {
      found.held.push(row.lane);
      continue;
    }
    // Only the first job of a content carries it.
    if (row.body !== null || row.parts !== null) contents.set(row.content_id, row);
    const lease: Lease = {
      id: row.id,
      leaseNo: Number(row.lease_no),
      lane: row.lane,
      version,
    };
    try {
      const job = finish(row, kind, version, contents.get(row.content_id));
      found.jobs.push(claimed(row, kind, lease, job, askedAt + limits.leaseMs));
    } catch (error) {
      found.unreadable.push({
        ...lease,
        error: error instanceof Error ? error.message : String(error),
      });
    }
  }
  // The connection keeps its last answer until the next one: that of a claim has all contents.
  rows.length = 0;
  return found;
}

function claimed(
  row: ClaimedRow,
  kind: JobKind,
  lease: Lease,
  job: DeliveryJob,
  leaseEndsAt: number,
): ClaimedJob {
  const [slow, ownerId, host] = row.facts;
  // No spread: on Node 20 one before so many properties takes 36 µs, and this 2 (measured).
  return {
    id: lease.id,
    leaseNo: lease.leaseNo,
    lane: lease.lane,
    version: lease.version,
    job,
    kind,
    eventId: row.event_id,
    repositoryId: row.repository_id === null ? null : Number(row.repository_id),
    accountId: row.account_id === null ? null : Number(row.account_id),
    attempts: row.attempts,
    tries: row.tries,
    redelivery: row.redelivery,
    expiresAtMs: row.expires_ms,
    slow,
    ownerId,
    host,
    leaseEndsAt,
  };
}
