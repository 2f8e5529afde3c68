import type { Pool } from '@ghost/db';
import type { Sql } from '@ghost/queue';

import { listLimit } from './list-limit.js';

/** What can change about who may do what, and about where a repository's events go. */
export const AUDIT_ACTIONS = [
  'account.added',
  'address.added',
  'address.made_primary',
  'address.removed',
  'address.verification_sent',
  'address.verified',
  'hook.added',
  'hook.changed',
  'hook.disabled',
  'hook.discarded',
  'hook.failing',
  'hook.paused',
  'hook.redelivered',
  'hook.removed',
  'hook.replay_cancelled',
  'hook.replay_started',
  'hook.resumed',
  'hook.secret_rotated',
  'member.added',
  'member.changed',
  'member.removed',
  'repository.created',
  'repository.deleted',
  'repository.visibility_changed',
  'token.added',
  'token.revoked',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** `actor` of a line that delivery wrote by itself; no login has brackets. */
export const AUDIT_SYSTEM = '(delivery)';

/**
 * Who changed it: an account by one of its tokens, or by the link of a mail (without a token), or null:
 * an operator at the command line.
 */
export type AuditActor = { id: number; login: string; token: { id: number } | null } | null;

export interface AccessChange {
  action: AuditAction;
  actor: AuditActor | typeof AUDIT_SYSTEM;
  repository?: { id: number; fullName: string };
  /** Whose access it is about. */
  subject?: { id: number; login: string };
  /** What was before and after; never a secret. */
  detail?: Readonly<Record<string, unknown>>;
}

/** Writes a line of the audit in the transaction of the change: there is no change without its line. */
export async function recordAccessChange(sql: Sql, change: AccessChange): Promise<void> {
  const { action, repository, subject, detail = {} } = change;
  const actor = change.actor === AUDIT_SYSTEM ? null : change.actor;
  await sql.query(
    `INSERT INTO audit_entry (action, actor_id, actor, token_id, repository_id, repository, subject_id, subject, detail)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb)`,
    [
      action,
      actor?.id ?? null,
      actor?.login ?? change.actor ?? 'operator',
      actor?.token?.id ?? null,
      repository?.id ?? null,
      repository?.fullName ?? null,
      subject?.id ?? null,
      subject?.login ?? null,
      JSON.stringify(detail),
    ],
  );
}

export interface AuditFilter {
  /** `owner/name`, as it was called then; without case. */
  repository?: string;
  /** A login, as actor or as subject; without case. */
  account?: string;
  /** Only lines older than the one with this id. */
  after?: number;
  /** 1 to 1,000; default 50. */
  limit?: number;
}

export interface AuditRow {
  id: number;
  at: Date;
  action: AuditAction;
  /** Null: delivery where `actor` is {@link AUDIT_SYSTEM}, else an operator at the command line. */
  actorId: number | null;
  actor: string;
  tokenId: number | null;
  repository: string | null;
  subject: string | null;
  detail: Record<string, unknown>;
}

interface AuditRecord extends Omit<AuditRow, 'id' | 'actorId' | 'tokenId'> {
  id: string;
  actorId: string | null;
  tokenId: string | null;
}

const newest = (where: string) => `
  SELECT id, at, action, actor_id AS "actorId", actor, token_id AS "tokenId", repository, subject, detail FROM audit_entry
  WHERE ${where} ($1::text IS NULL OR lower(repository) = lower($1)) AND ($2::bigint IS NULL OR id < $2)
  ORDER BY id DESC LIMIT $3`;
const NEWEST = newest('');
// Two questions, each by an index of its own: with OR the planner reads the newest lines of everybody.
const NEWEST_OF_ACCOUNT = `
  (${newest('lower(subject) = lower($4) AND')}) UNION (${newest('lower(actor) = lower($4) AND actor_id IS NOT NULL AND')})
  ORDER BY id DESC LIMIT $3`;

/** The newest lines that fit a filter. */
export async function listAudit(pool: Pool, filter: AuditFilter = {}): Promise<AuditRow[]> {
  const limit = listLimit(filter.limit);
  const { rows } = await pool.query<AuditRecord>(
    filter.account === undefined ? NEWEST : NEWEST_OF_ACCOUNT,
    [
      filter.repository ?? null,
      filter.after ?? null,
      limit,
      ...(filter.account === undefined ? [] : [filter.account]),
    ],
  );
  return rows.map((row) => ({
    ...row,
    id: Number(row.id),
    actorId: row.actorId === null ? null : Number(row.actorId),
    tokenId: row.tokenId === null ? null : Number(row.tokenId),
  }));
}
