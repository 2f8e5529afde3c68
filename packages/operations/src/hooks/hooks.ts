import { canonicalFilters, type HookFilter } from '@ghost/contract';
import type { Pool } from '@ghost/db';
import type { Sql } from '@ghost/queue';

import type { AccessChange } from '../audit.js';
import { listLimit } from '../list-limit.js';
import type { HookSettings } from './change-hook.js';
import { HookError } from './hook-error.js';
import { type HookHold, holdOf } from './hook-hold.js';
import { oldSecretHint } from './old-secret-hint.js';

/** A hook as an operator sees it. */
export interface HookListing {
  id: number;
  /** `owner/name`. */
  repository: string;
  /** Scheme, host and port: the rest of a URL may be secret. */
  origin: string;
  events: string[];
  filters: readonly HookFilter[];
  active: boolean;
  githubSignature: boolean;
  insecureSsl: boolean;
  /** Most deliveries in any minute; null: no bound. */
  rateLimit: number | null;
  /** Of its custom headers; their values are shown to nobody. */
  headerNames: string[];
  held: HookHold | null;
  /** Pending jobs, those in flight included. */
  pending: number;
  secretChangedAt: Date | null;
  oldSecretUntil: Date | null;
  oldSecretHint: string | null;
  lastSuccessAt: Date | null;
  /** The first failure since the last success; null when none is newer. */
  failingSince: Date | null;
  /** When the first of what it keeps is given up; null where it is not held, or keeps nothing. */
  expiresAt: Date | null;
  createdAt: Date;
}

export interface HookList {
  /** `owner/name`, without case. */
  repository?: string;
  /** Only held ones. */
  held?: boolean;
  /** One hook. */
  id?: number;
  /** Only hooks after the one with this id. */
  after?: number;
  /** 1 to 1,000; default 50. */
  limit?: number;
}

interface HookRecord
  extends Omit<HookListing, 'id' | 'origin' | 'held' | 'pending' | 'oldSecretHint'> {
  id: string;
  url: string;
  pending: string;
  heldReason: string | null;
  heldSince: Date | null;
  lastStatus: number | null;
  lastStartedAt: Date | null;
  now: Date;
}

/** The hooks, the oldest first. What waits is counted for the listed ones alone. */
export async function listHooks(pool: Pool, list: HookList = {}): Promise<HookListing[]> {
  const { rows } = await pool.query<HookRecord>(
    `SELECT h.id, a.login || '/' || r.name AS repository, h.url, h.events, h.filters, h.active,
       h.github_signature AS "githubSignature", h.insecure_ssl AS "insecureSsl", h.rate_limit AS "rateLimit", h.header_names AS "headerNames",
       h.secret_changed_at AS "secretChangedAt", h.old_secret_until AS "oldSecretUntil", h.created_at AS "createdAt",
       l.held_reason AS "heldReason", l.held_since AS "heldSince", l.last_success_at AS "lastSuccessAt",
       l.failing_since AS "failingSince",
       t.status AS "lastStatus", t.started_at AS "lastStartedAt", now(),
       (SELECT count(*) FROM delivery_job j WHERE j.lane = 'hook:' || h.id AND j.status = 'pending') AS pending,
       (SELECT min(j.expires_at) FROM delivery_job j
        WHERE j.lane = 'hook:' || h.id AND j.status = 'pending' AND l.held_reason IS NOT NULL) AS "expiresAt"
     FROM hook h JOIN repository r ON r.id = h.repository_id JOIN account a ON a.id = r.owner_id
     LEFT JOIN LATERAL (
       SELECT min(held_reason) AS held_reason, min(held_at) AS held_since, max(last_success_at) AS last_success_at,
         min(failing_since) AS failing_since
       FROM delivery_lane WHERE lane = 'hook:' || h.id
     ) l ON true
     LEFT JOIN LATERAL (
       SELECT status, started_at FROM (
         (SELECT id, status, started_at FROM delivery_attempt WHERE hook_id = h.id AND outcome = 'delivered' ORDER BY id DESC LIMIT 1)
         UNION ALL
         (SELECT id, status, started_at FROM delivery_attempt WHERE hook_id = h.id AND outcome <> 'delivered' AND outcome <> 'cancelled'
            AND reason IS DISTINCT FROM 'expired'
          ORDER BY id DESC LIMIT 1)
       ) newest ORDER BY id DESC LIMIT 1
     ) t ON true
     WHERE h.id > $1 AND ($2::bigint IS NULL OR h.id = $2)
       AND ($3::text IS NULL OR lower(a.login || '/' || r.name) = lower($3))
       AND (NOT $4::boolean OR l.held_reason IS NOT NULL)
     ORDER BY h.id LIMIT $5`,
    [
      list.after ?? 0,
      list.id ?? null,
      list.repository ?? null,
      list.held ?? false,
      listLimit(list.limit),
    ],
  );
  return rows.map(toListing);
}

/** @throws HookError `unknown_hook` */
export async function showHook(pool: Pool, id: number): Promise<HookListing> {
  const [found] = await listHooks(pool, { id, limit: 1 });
  if (found === undefined) throw unknownHook(id);
  return found;
}

/** A hook for who changes it, with the repository that the audit names. */
export interface LockedHook extends HookSettings {
  id: number;
  repository: NonNullable<AccessChange['repository']>;
}

/**
 * Locks a hook against other edits; fan-out and delivery read it without waiting.
 * @throws HookError `unknown_hook`
 */
export async function lockHookById(sql: Sql, id: number): Promise<LockedHook> {
  await sql.query('SELECT FROM hook WHERE id = $1 FOR NO KEY UPDATE', [id]);
  // Read after the lock: what the statement that waited for it saw may be older.
  const [row] = await sql.query<HookSettings & { repositoryId: string; fullName: string }>(
    `SELECT r.id AS "repositoryId", a.login || '/' || r.name AS "fullName", h.url, h.events, h.filters, h.active,
       h.github_signature AS "githubSignature", h.insecure_ssl AS "insecureSsl", h.rate_limit AS "rateLimit",
       h.header_names AS "headerNames", h.headers_ciphertext AS "headersCiphertext"
     FROM hook h JOIN repository r ON r.id = h.repository_id JOIN account a ON a.id = r.owner_id
     WHERE h.id = $1`,
    [id],
  );
  if (row === undefined) throw unknownHook(id);
  const { repositoryId, fullName, ...settings } = row;
  return { ...settings, id, repository: { id: Number(repositoryId), fullName } };
}

function unknownHook(id: number): HookError {
  return new HookError('unknown_hook', `There is no hook ${id}.`);
}

function toListing({
  url,
  heldReason,
  heldSince,
  lastStatus,
  lastStartedAt,
  now,
  ...row
}: HookRecord) {
  const last = lastStartedAt === null ? null : { status: lastStatus, startedAt: lastStartedAt };
  return {
    ...row,
    id: Number(row.id),
    filters: canonicalFilters(row.filters),
    pending: Number(row.pending),
    origin: new URL(url).origin,
    held: holdOf(heldReason, heldSince),
    oldSecretHint: oldSecretHint({ ...row, last }, now),
  };
}
