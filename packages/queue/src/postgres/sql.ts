import { connectionOf, type Pool, type Transaction } from '@ghost/db';

import type { Sql } from '../queue.js';

/** Runs each statement on whichever pooled connection is free. */
export function sqlOfPool(pool: Pool): Sql {
  return {
    async query<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
      const result = await pool.query<Row>(text, [...values]);
      return result.rows;
    },
  };
}

/** Runs statements in a Drizzle transaction. */
export function sqlOf(tx: Transaction): Sql {
  const connection = connectionOf(tx);
  return {
    async query<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
      const result = await connection.query<Row>(text, [...values]);
      return result.rows;
    },
  };
}
