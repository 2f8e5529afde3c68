import type { Pool } from '@ghost/db';

/** No mail is sent until then. */
export interface RelayRest {
  reason: string;
  until: Date;
}

/** Why the SMTP relay rests, and until when; null while it works. */
export async function findRelayRest(pool: Pool): Promise<RelayRest | null> {
  const { rows } = await pool.query<RelayRest>(
    'SELECT reason, paused_until AS until FROM delivery_relay WHERE paused_until > now()',
  );
  return rows[0] ?? null;
}
