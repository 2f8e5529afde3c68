import type { ApiScope, Pool } from '@ghost/db';
import { type Sql, sqlOf, sqlOfPool } from '@ghost/queue';

import { AccountError, refuse } from './account-error.js';
import { checkExpiry, checkLabel, checkScopes } from './account-rules.js';
import { createToken, hashToken } from './api-token.js';
import { type AuditActor, recordAccessChange } from './audit.js';
import { listLimit } from './list-limit.js';
import {
  type AccountName,
  type AccountRef,
  type ChangeIn,
  changeIn,
  findAccount,
  lockAccount,
} from './lock-account.js';

/** Live tokens of an account: far more than a person can tell apart. */
export const MAX_LIVE_TOKENS = 100;

/** Of a row of api_token: neither revoked nor past its end. */
export const LIVE = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())';
const COLUMNS = 'id, label, scopes, created_at, expires_at, revoked_at';

/** A token as it is listed: never the token itself, nor its hash. */
export interface TokenRow {
  id: number;
  label: string;
  scopes: ApiScope[];
  createdAt: Date;
  /** Null: it does not end by itself. */
  expiresAt: Date | null;
  revokedAt: Date | null;
}

export interface AddedToken extends TokenRow {
  /** Shown once: only its SHA-256 is kept. */
  token: string;
}

export type NewToken = AccountRef & {
  /** What it is for: 1 to 100 characters, one line. */
  label: string;
  scopes: readonly ApiScope[];
  /** Null: it does not end by itself. */
  expiresAt: Date | null;
  /** An account can pass on only what the token that it used holds. */
  actor: AuditActor;
};

/**
 * Makes one more API token for an account, and the audit's line.
 * @throws AccountError `unknown_login`, `bad_label`, `bad_scopes`, `bad_expiry` (not in the future),
 *   `too_many_tokens`; for an account's wish also `scope_not_held`, `outlives_token`, `token_ended`
 */
export async function addToken(at: ChangeIn, wish: NewToken): Promise<AddedToken> {
  const { label, scopes, expiresAt, actor } = wish;
  refuse('bad_label', checkLabel(label));
  refuse('bad_scopes', checkScopes(scopes));
  refuse('bad_expiry', checkExpiry(expiresAt, new Date()));
  const token = createToken();
  return changeIn(at, async (tx) => {
    const sql = sqlOf(tx);
    const account = await lockAccount(sql, wish);
    await refuseToPassOn(sql, wish);
    await refuseTooMany(sql, account);
    const row = await insertToken(sql, account, { label, scopes, expiresAt, token });
    await recordAccessChange(sql, {
      action: 'token.added',
      actor,
      subject: account,
      detail: { token: row.id, label, scopes, expires_at: expiresAt?.toISOString() ?? null },
    });
    return { ...row, token };
  });
}

/**
 * Writes the row alone; the caller checked what is in it, but for the end: the row begins by the
 * database's clock, and may not end before.
 * @throws AccountError `bad_expiry`
 */
export async function insertToken(
  sql: Sql,
  account: AccountName,
  wish: {
    label: string;
    scopes: readonly ApiScope[];
    expiresAt: Date | null;
    token: string;
  },
): Promise<TokenRow> {
  const [row] = await sql.query<TokenRecord>(
    `INSERT INTO api_token (account_id, label, token_hash, scopes, expires_at)
     SELECT $1::bigint, $2::text, $3::bytea, $4::text[], $5::timestamptz
     WHERE $5::timestamptz IS NULL OR $5::timestamptz > now() RETURNING ${COLUMNS}`,
    [
      account.id,
      wish.label,
      hashToken(wish.token),
      wish.scopes,
      wish.expiresAt?.toISOString() ?? null,
    ],
  );
  if (!row) {
    throw new AccountError(
      'bad_expiry',
      `The end ${wish.expiresAt?.toISOString() ?? ''} is not in the future.`,
    );
  }
  return toRow(row);
}

/** What was checked when the request came is checked again under the lock: a token may end meanwhile. */
async function refuseToPassOn(sql: Sql, { actor, scopes, expiresAt }: NewToken): Promise<void> {
  if (actor === null) return;
  const [own] = await sql.query<{ scopes: ApiScope[]; expires_at: Date | null }>(
    `SELECT scopes, expires_at FROM api_token WHERE id = $1 AND account_id = $2 AND ${LIVE}`,
    [actor.token?.id ?? null, actor.id],
  );
  if (!own) throw new AccountError('token_ended', 'The token that you use has ended meanwhile.');
  const more = scopes.filter((scope) => !own.scopes.includes(scope));
  if (more.length > 0) {
    throw new AccountError(
      'scope_not_held',
      `The token that you use does not hold ${more.map((scope) => `"${scope}"`).join(', ')}, so it cannot pass that on. Ask for no more than ${own.scopes.join(', ')}.`,
    );
  }
  const end = own.expires_at === null ? null : new Date(own.expires_at);
  if (end !== null && (expiresAt === null || expiresAt > end)) {
    throw new AccountError(
      'outlives_token',
      `The token that you use ends at ${end.toISOString()}, so one that it makes must end by then.`,
    );
  }
}

async function refuseTooMany(sql: Sql, account: AccountName): Promise<void> {
  const [row] = await sql.query<{ live: string }>(
    // In order and bounded, so that it reads the index of those that are not revoked.
    `SELECT count(*) AS live FROM (
       SELECT FROM api_token WHERE account_id = $1 AND ${LIVE} ORDER BY id DESC LIMIT $2
     ) AS newest`,
    [account.id, MAX_LIVE_TOKENS],
  );
  if (Number(row?.live) < MAX_LIVE_TOKENS) return;
  throw new AccountError(
    'too_many_tokens',
    `The account has ${MAX_LIVE_TOKENS} live tokens, which is the most. Revoke one that is not needed.`,
  );
}

export type TokenList = AccountRef & {
  /** Only tokens made before the one with this id. */
  after?: number;
  /** 1 to 1,000; default 50. */
  limit?: number;
  /** Default true; false leaves out what was revoked. */
  revoked?: boolean;
};

/**
 * The tokens of an account, the newest first.
 * @throws AccountError `unknown_login`
 */
export async function listTokens(pool: Pool, list: TokenList): Promise<TokenRow[]> {
  const sql = sqlOfPool(pool);
  const account = await findAccount(sql, list);
  const limit = listLimit(list.limit);
  const rows = await sql.query<TokenRecord>(
    `SELECT ${COLUMNS} FROM api_token
     WHERE account_id = $1 AND ($2::bigint IS NULL OR id < $2) AND ($3 OR revoked_at IS NULL)
     ORDER BY id DESC LIMIT $4`,
    [account.id, list.after ?? null, list.revoked ?? true, limit],
  );
  return rows.map(toRow);
}

/**
 * Ends a token, and writes the audit's line. Its next use is refused; one that was revoked is absent.
 * @param wish - `accountId`: only a token of that account
 */
export async function revokeToken(
  at: ChangeIn,
  wish: { id: number; accountId?: number; actor: AuditActor },
): Promise<'revoked' | 'absent'> {
  return changeIn(at, async (tx) => {
    const sql = sqlOf(tx);
    const [found] = await sql.query<{ account_id: string }>(
      'SELECT account_id FROM api_token WHERE id = $1 AND ($2::bigint IS NULL OR account_id = $2)',
      [wish.id, wish.accountId ?? null],
    );
    if (!found) return 'absent';
    // The account's lock first, as everywhere: a token that is being used to make another waits, or is gone.
    const account = await lockAccount(sql, { accountId: Number(found.account_id) });
    const [ended] = await sql.query<{ label: string }>(
      'UPDATE api_token SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL RETURNING label',
      [wish.id],
    );
    if (!ended) return 'absent';
    await recordAccessChange(sql, {
      action: 'token.revoked',
      actor: wish.actor,
      subject: account,
      detail: { token: wish.id, label: ended.label },
    });
    return 'revoked';
  });
}

interface TokenRecord {
  id: string;
  label: string;
  scopes: ApiScope[];
  created_at: Date | string;
  expires_at: Date | string | null;
  revoked_at: Date | string | null;
}

function toRow(row: TokenRecord): TokenRow {
  return {
    id: Number(row.id),
    label: row.label,
    scopes: row.scopes,
    createdAt: new Date(row.created_at),
    expiresAt: row.expires_at === null ? null : new Date(row.expires_at),
    revokedAt: row.revoked_at === null ? null : new Date(row.revoked_at),
  };
}
