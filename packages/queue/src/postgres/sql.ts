import type { Pool, Transaction } from '@ghost/db';
import { sql } from 'drizzle-orm';

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

const PLACEHOLDER = /\$(\d+)/gu;

/** Runs statements in a Drizzle transaction. */
export function sqlOf(tx: Transaction): Sql {
  return {
    async query<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
      const chunks = [];
      let from = 0;
      for (const found of text.matchAll(PLACEHOLDER)) {
        chunks.push(
          sql.raw(text.slice(from, found.index)),
          sql.param(values[Number(found[1]) - 1]),
        );
        from = found.index + found[0].length;
      }
      chunks.push(sql.raw(text.slice(from)));
      const result = await tx.execute(sql.join(chunks));
      return result.rows as Row[];
    },
  };
}
