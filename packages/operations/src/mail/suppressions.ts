import type { Suppression } from '@ghost/contract';
import type { Sql } from '@ghost/queue';

/** A full mailbox is often emptied, a domain's DNS mended. */
const SOFT_DAYS = 7;

const FIND = `
  SELECT address FROM mail_suppression
  WHERE address = ANY ($1::text[]) AND since IS NOT NULL AND (until IS NULL OR until > now())`;

// Of a row `m`: what ended keeps neither its beginning nor its end, and what is for good keeps its reason, so that no late
// bounce hides a complaint.
const ACTIVE = 'm.since IS NOT NULL AND (m.until IS NULL OR m.until > now())';
const REASON = `CASE WHEN m.since IS NOT NULL AND m.until IS NULL AND excluded.reason <> 'complaint'
  THEN m.reason ELSE excluded.reason END`;

const SUPPRESS = `
  INSERT INTO mail_suppression AS m (address, reason, since, until)
  VALUES ($1, $2, now(), CASE WHEN $3::integer IS NULL THEN NULL ELSE now() + $3 * interval '1 day' END)
  ON CONFLICT (address) DO UPDATE SET reason = ${REASON},
    since = CASE WHEN ${ACTIVE} THEN m.since ELSE excluded.since END,
    until = CASE WHEN m.since IS NOT NULL AND m.until IS NULL THEN NULL ELSE excluded.until END`;

// Two refusals on different days; many on one day are one, as they may have one passing cause.
const STRIKE = `
  INSERT INTO mail_suppression AS m (address, reason, strikes, last_strike_on)
  VALUES ($1, $2, 1, (now() AT TIME ZONE 'UTC')::date)
  ON CONFLICT (address) DO UPDATE SET reason = ${REASON},
    strikes = m.strikes + 1, last_strike_on = excluded.last_strike_on,
    since = CASE WHEN m.strikes = 0 OR ${ACTIVE} THEN m.since ELSE now() END,
    until = CASE WHEN m.strikes = 0 THEN m.until END
  WHERE m.last_strike_on IS DISTINCT FROM excluded.last_strike_on`;

export interface Suppressions {
  /** Which of the addresses get no mail now; one query a claimed batch. */
  among(addresses: readonly string[]): Promise<Set<string>>;
  note(address: string, suppression: Suppression, reason: string): Promise<void>;
}

/** The addresses that get no mail; keyed in lower case, as the table's own check demands. */
export function createSuppressions(sql: Sql): Suppressions {
  return {
    async among(addresses) {
      if (addresses.length === 0) return new Set();
      const lower = addresses.map((address) => address.toLowerCase());
      const rows = await sql.query<{ address: string }>(FIND, [lower]);
      return new Set(rows.map((row) => row.address));
    },
    async note(address, suppression, reason) {
      const key = address.toLowerCase();
      if (suppression === 'strike') {
        await sql.query(STRIKE, [key, reason]);
        return;
      }
      await sql.query(SUPPRESS, [key, reason, suppression === 'soft' ? SOFT_DAYS : null]);
    },
  };
}
