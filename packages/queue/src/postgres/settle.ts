import { toStorableJson } from '@ghost/contract';

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
  const given = settlements.map((settlement, index) => ({
    id: settlement.id,
    lease_no: settlement.leaseNo,
    lane: settlement.lane,
    version: settlement.version,
    state: STATE[settlement.outcome],
    outcome: settlement.outcome,
    reason: settlement.reason,
    charged: settlement.charged,
    delay_ms: Math.round(settlement.delayMs),
    hold: settlement.outcome === 'held',
    rest_ms: settlement.laneRestMs === undefined ? null : Math.round(settlement.laneRestMs),
    fault: settlement.laneFault,
    started_at: settlement.attempt?.startedAt,
    message: settlement.attempt?.message,
    code: settlement.attempt?.status,
    timings: settlement.attempt?.timings,
    request_head: heads.own[index],
    response_head: settlement.attempt?.responseHead,
    body_excerpt: settlement.attempt?.bodyExcerpt,
  }));
  const lanes = [
    ...new Map(settlements.map((one) => [`${one.lane} ${one.version}`, one])).values(),
  ];
  const rows = await sql.query<{ id: string; lease_no: string; status: Settled['status'] }>(
    'SELECT * FROM delivery_settle($1::json, $2, $3, $4, $5, $6::jsonb)',
    [
      toStorableJson(given),
      lanes.map(({ lane }) => lane),
      lanes.map(({ version }) => version),
      given.length,
      slots,
      toStorableJson(heads.common),
    ],
  );
  return rows.map((row) => ({ id: row.id, leaseNo: Number(row.lease_no), status: row.status }));
}
