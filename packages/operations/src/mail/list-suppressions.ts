import type { Pool } from '@ghost/db';

import { listLimit } from '../list-limit.js';

/** An address that gets no mail, or was refused once. */
export interface SuppressionRow {
  address: string;
  /** `address_unknown`, `mailbox_full`, `complaint`, … */
  reason: string;
  /** Null: refused, and not suppressed yet. */
  since: Date | null;
  /** Null: for good. */
  until: Date | null;
  /** Refusals on different days. */
  strikes: number;
  /** Whether mail is kept from it now. */
  active: boolean;
}

export interface SuppressionList {
  /** One address, without case. */
  address?: string;
  /** Only those that keep mail from their address now. */
  active?: boolean;
  /** Only addresses after this one. */
  after?: string;
  /** 1 to 1,000; default 50. */
  limit?: number;
}

/** By address. */
export async function listSuppressions(
  pool: Pool,
  { address, active = false, after = '', limit }: SuppressionList = {},
): Promise<SuppressionRow[]> {
  const { rows } = await pool.query<SuppressionRow>(
    `SELECT * FROM (
       SELECT address, reason, since, until, strikes,
         since IS NOT NULL AND (until IS NULL OR until > now()) AS active
       FROM mail_suppression
       WHERE address > $1 AND ($2::text IS NULL OR address = lower($2))
     ) s WHERE active OR NOT $3::boolean ORDER BY address LIMIT $4`,
    [after, address ?? null, active, listLimit(limit)],
  );
  return rows;
}

/** Lets an address have mail again, and forgets why it had none. @returns false when nothing was known of it */
export async function liftSuppression(pool: Pool, address: string): Promise<boolean> {
  const { rowCount } = await pool.query('DELETE FROM mail_suppression WHERE address = lower($1)', [
    address,
  ]);
  return rowCount === 1;
}
