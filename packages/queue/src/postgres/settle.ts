import { toStorableJson } from '@ghost/contract';

import { arrayLiteral } from './array-literal.js';
import { partHeads } from './common-head.js';
import type { Settled, SettledOutcome, Settlement, Sql } from '../queue.js';

const STATE: Record<SettledOutcome, Settled['status']> = {
  delivered: 'delivered',
  retry: 'pending',
  dead: 'dead',
  held: 'pending',
  cancelled: 'cancelled',
  relay_paused: 'pending',
};

const FIELDS = 19;
const SETTLE = `SELECT * FROM delivery_settle(${Array.from({ length: FIELDS }, (_, n) => `$${n + 1}`).join(', ')})`;

/**
 * Writes a batch of outcomes, their history and what they mean for their lanes in one statement.
 * @param slots - of a lane that has no limit of its own: no more can be earned
 */
export async function settle(
  sql: Sql,
  settlements: readonly Settlement[],
  slots: number,
): Promise<Settled[]> {
  if (settlements.length === 0) return [];
  const heads = partHeads(settlements.map(({ attempt }) => attempt?.requestHead));
  const parts = settlements.map(({ attempt }, index) => [
    attempt?.timings ?? null,
    heads.own[index] ?? null,
    attempt?.responseHead ?? null,
  ]);
  const each = (field: (one: Settlement) => string | number | boolean | null | undefined) =>
    arrayLiteral(settlements.map(field));
  const rows = await sql.query<{ id: string; lease_no: string; status: Settled['status'] }>(
    SETTLE,
    [
      each((one) => one.id),
      each((one) => one.leaseNo),
      each((one) => one.lane),
      each((one) => one.version),
      each((one) => STATE[one.outcome]),
      each((one) => one.outcome),
      each((one) => one.reason),
      each((one) => one.charged),
      each((one) => Math.round(one.delayMs)),
      each((one) => one.outcome === 'held'),
      each((one) => (one.laneRestMs === undefined ? null : Math.round(one.laneRestMs))),
      each((one) => one.laneFault),
      each((one) => one.attempt?.startedAt),
      each((one) => one.attempt?.message),
      each((one) => one.attempt?.status),
      each((one) => one.attempt?.bodyExcerpt),
      toStorableJson(parts),
      toStorableJson(heads.common),
      slots,
    ],
  );
  return rows.map((row) => ({ id: row.id, leaseNo: Number(row.lease_no), status: row.status }));
}
