import type { Pool } from '@ghost/db';

/** Nobody but a superuser may end a transaction as ours end. The server's own functions are each database's. */
export async function refuseToWaitForDisk(pool: Pool): Promise<void> {
  await pool.query(
    `DO $$ BEGIN
       EXECUTE (
         SELECT string_agg('REVOKE EXECUTE ON FUNCTION ' || oid::regprocedure || ' FROM PUBLIC', '; ')
         FROM pg_proc WHERE proname = 'pg_logical_emit_message'
       );
     END $$`,
  );
}
