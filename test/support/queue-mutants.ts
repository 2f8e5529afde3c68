import type { Pool } from '@ghost/db';

/** A fault that is put into the SQL verbs of a test database. */
export interface QueueMutant {
  readonly name: string;
  /** The SQL function that is changed. */
  readonly verb: string;
  /** Each text must be there, exactly once. */
  readonly changes: readonly (readonly [from: string, to: string])[];
}

const FENCE = 'j.id = g.id AND j.lease_no = g.lease_no AND j.lease_until IS NOT NULL';

const LOWER = `    AND (g.run_at < d.next_at OR g.run_at < d.mark OR g.owner_id`;

const LOCK_LANE = 'ORDER BY l.moves DESC LIMIT 1 FOR UPDATE';

const LOCK_DUE = `            AND l.next_at >= v_floor AND l.next_at <= v_now AND l.next_at < 'infinity'
          ORDER BY l.next_at LIMIT v_most
          FOR UPDATE SKIP LOCKED`;

export const QUEUE_MUTANTS: readonly QueueMutant[] = [
  {
    name: 'settle: no fence',
    verb: 'delivery_settle',
    changes: [[FENCE, 'j.id = g.id']],
  },
  {
    name: 'settle: fence on status only',
    verb: 'delivery_settle',
    changes: [[FENCE, "j.id = g.id AND j.status = 'pending'"]],
  },
  {
    name: 'settle: a lease that was given back still counts',
    verb: 'delivery_settle',
    changes: [[FENCE, "j.id = g.id AND j.lease_no = g.lease_no AND j.status = 'pending'"]],
  },
  {
    name: 'settle: drops unreported jobs',
    verb: 'delivery_settle',
    changes: [
      [
        '), history AS (',
        `), dropped AS (
    UPDATE delivery_job j SET status = 'dead', finished_at = v_now, lease_until = NULL
    WHERE j.lane IN (SELECT g.lane FROM given g) AND j.lease_until > v_now
      AND NOT EXISTS (SELECT FROM given g WHERE g.id = j.id)
  ), history AS (`,
      ],
    ],
  },
  {
    name: 'settle: a retry does not lower next_at',
    verb: 'delivery_settle',
    changes: [['ELSE least(d.next_at, e.again_at)', 'ELSE d.next_at']],
  },
  {
    name: 'settle: forgets when the unreported leases end',
    verb: 'delivery_settle',
    changes: [['ELSE least(d.next_at, e.again_at)', "ELSE coalesce(e.again_at, 'infinity')"]],
  },
  {
    name: 'settle: does not wake a full lane',
    verb: 'delivery_settle',
    changes: [['WHEN d.full THEN v_now', '']],
  },
  {
    name: 'enqueue: leaves a known lane as it is',
    verb: 'delivery_touch_lanes',
    changes: [[LOWER, LOWER.replace('AND (', 'AND false AND (')]],
  },
  {
    name: 'enqueue: locks a lane only where it lowers it, so that it is emptied meanwhile',
    verb: 'delivery_touch_lanes',
    changes: [
      [LOCK_LANE, LOCK_LANE.replace(' FOR UPDATE', '')],
      [
        'FROM unnest(v_places, p_run_ats, p_owners, p_hosts) AS g(place, run_at, owner_id, host)\n  WHERE d.ctid = g.place',
        'FROM unnest(p_lanes, p_versions, p_run_ats, p_owners, p_hosts) AS g(lane, version, run_at, owner_id, host)\n  WHERE d.lane = g.lane AND d.version = g.version',
      ],
    ],
  },
  {
    name: 'claim: in one statement, its snapshot older than its locks',
    verb: 'delivery_claim',
    changes: [
      [LOCK_DUE, LOCK_DUE.replace('FOR UPDATE SKIP LOCKED', '')],
      // Where all that is due is locked by one statement, too.
      ['IF NOT v_noted THEN', 'IF false THEN'],
      ['IF cardinality(v_places) = 1 AND NOT p_alone THEN', 'IF false THEN'],
      // A busy server may wait between snapshot and lock; here it always does.
      [
        'FROM unnest(v_places) WITH ORDINALITY AS u(place, n)',
        `FROM unnest(ARRAY(
        SELECT l.ctid FROM (SELECT pg_sleep(0.003)) AS pause, delivery_lane l
        WHERE l.ctid = ANY (v_places) FOR UPDATE OF l SKIP LOCKED
      )) WITH ORDINALITY AS u(place, n)`,
      ],
    ],
  },
  {
    name: 'claim: counts no live leases',
    verb: 'delivery_claim',
    changes: [
      [
        '<= (l.leased_to, l.leased_to_id) AND j.lease_until > v_now',
        '<= (l.leased_to, l.leased_to_id) AND false',
      ],
    ],
  },
  {
    name: 'claim: takes jobs that are in somebody’s hand',
    verb: 'delivery_claim',
    changes: [
      ['AND (j.lease_until IS NULL OR j.lease_until <= v_now) AND NOT l.held', 'AND NOT l.held'],
      [
        'AND j.run_at <= v_now\n        AND (j.lease_until IS NULL OR j.lease_until <= v_now)\n      RETURNING',
        'AND j.run_at <= v_now\n      RETURNING',
      ],
    ],
  },
  {
    name: 'claim: moves the mark past jobs that are leased',
    verb: 'delivery_claim',
    changes: [
      ['coalesce(least(n.first_run_at, n.first_due_at), v_now)', 'coalesce(n.first_due_at, v_now)'],
    ],
  },
  {
    name: 'claim: gives held lanes out',
    verb: 'delivery_claim',
    changes: [
      [' AND NOT l.held AND NOT l.resting', ' AND NOT l.resting'],
      ["WHEN n.held THEN 'infinity'", ''],
    ],
  },
  {
    name: 'claim of one lane: in one statement, its snapshot older than its locks',
    verb: 'delivery_claim',
    changes: [
      [LOCK_DUE, LOCK_DUE.replace('FOR UPDATE SKIP LOCKED', '')],
      // Where all that is due is locked by one statement, too.
      ['IF NOT v_noted THEN', 'IF false THEN'],
      [
        'INTO v_lone\n      FROM delivery_lane d',
        'INTO v_lone\n      FROM (SELECT pg_sleep(0.003)) AS pause, delivery_lane d',
      ],
      [' < p_host_most);', ' < p_host_most) FOR UPDATE OF d SKIP LOCKED;'],
      // Else it would go on by the way of many, which locks nothing.
      [
        '      IF FOUND THEN\n        RETURN QUERY',
        '      IF NOT FOUND THEN RETURN; ELSE\n        RETURN QUERY',
      ],
    ],
  },
  {
    name: 'claim of one lane: though it is held',
    verb: 'delivery_claim',
    changes: [[' AND d.held_reason IS NULL AND d.per_minute IS NULL', ' AND d.per_minute IS NULL']],
  },
  {
    name: 'claim of one lane: takes the first of many for the only one',
    verb: 'delivery_claim',
    changes: [['ORDER BY q.run_at, q.id LIMIT 2', 'ORDER BY q.run_at, q.id LIMIT 1']],
  },
  {
    name: 'claim of one lane: takes what is in somebody’s hand',
    verb: 'delivery_claim',
    changes: [
      ['q.run_at <= v_now AND q.lease_until IS NULL AND', 'q.run_at <= v_now AND'],
      ['t.finished_at IS NULL AND t.lease_until IS NULL', 't.finished_at IS NULL'],
    ],
  },
  {
    name: 'extend: no fence',
    verb: 'delivery_extend',
    changes: [['j.lease_no = g.lease_no AND ', '']],
  },
  {
    name: 'extend: revives a lease that ended',
    verb: 'delivery_extend',
    changes: [['j.lease_until > clock_timestamp()', 'j.lease_until IS NOT NULL']],
  },
  {
    name: 'release: no fence',
    verb: 'delivery_release',
    changes: [['j.lease_no = g.lease_no AND ', '']],
  },
  {
    name: 'release: the lane is not due',
    verb: 'delivery_release',
    changes: [['next_at = least(d.next_at, now()), ', '']],
  },
  {
    name: 'cancel: a full lane stays full',
    verb: 'delivery_cancel',
    changes: [['next_at = least(d.next_at, now())', 'next_at = d.next_at']],
  },
  {
    name: 'resume: the lane is not due',
    verb: 'delivery_resume',
    changes: [[', next_at = now()', '']],
  },
  {
    name: 'redeliver: does not lower the mark',
    verb: 'delivery_redeliver',
    changes: [[', mark = least(d.mark, now())', '']],
  },
  {
    name: 'nextDue: forgets lanes whose jobs wait',
    verb: 'delivery_next_due',
    changes: [
      [
        'j.run_at >= l.mark LIMIT 1\n        ) IS NULL',
        'j.run_at <= now() LIMIT 1\n        ) IS NULL',
      ],
    ],
  },
  {
    name: 'claim: a lane has all its slots, whatever it earned',
    verb: 'delivery_claim',
    changes: [
      [
        'least(d.earned, delivery_lane_cap(d.lane, d.slots, p_slots))',
        'delivery_lane_cap(d.lane, d.slots, p_slots)',
      ],
    ],
  },
  {
    name: 'claim: gives suspects out beside others',
    verb: 'delivery_claim',
    changes: [['c_suspect constant smallint := 2', 'c_suspect constant smallint := 200']],
  },
  {
    name: 'claim: a job never dies of its workers',
    verb: 'delivery_claim',
    changes: [['c_died constant smallint := 5', 'c_died constant smallint := 500']],
  },
  {
    name: 'claim: a full lane is not looked at again when a lease ends',
    verb: 'delivery_claim',
    changes: [['THEN least(n.first_end, v_lease_end)', "THEN 'infinity'"]],
  },
  {
    name: 'settle: the breaker never opens',
    verb: 'delivery_failures_after',
    changes: [['least(5, p_failures + p_faults)', 'least(4, p_failures + p_faults)']],
  },
  {
    name: 'settle: a time-out takes no slot back',
    verb: 'delivery_settle',
    changes: [["count(*) FILTER (WHERE s.fault = 'timed_out') AS timeouts", '0 AS timeouts']],
  },
  {
    name: 'settle: a success does not wake a lane that the breaker lets rest',
    verb: 'delivery_settle',
    changes: [['WHEN e.successes > 0 AND d.failures >= 5 THEN v_now', '']],
  },
  {
    name: 'limit: a raised limit does not wake a full lane',
    verb: 'delivery_limit',
    changes: [['CASE WHEN "full" THEN now() ELSE next_at END', 'next_at']],
  },
  {
    name: 'redeliver: what has no lane any more, too',
    verb: 'delivery_redeliver',
    changes: [
      ['ORDER BY l.moves DESC LIMIT 1) IS NOT NULL', 'LIMIT 1) IS DISTINCT FROM j.id::text'],
    ],
  },
  {
    name: 'cancelLater: the lane is not held',
    verb: 'delivery_cancel_later',
    changes: [["held_reason = p_reason, held_at = now(), next_at = 'infinity'", 'kind = kind']],
  },
  {
    name: 'cancelSome: takes what a worker holds',
    verb: 'delivery_cancel_some',
    changes: [
      [
        'WHERE j.id = ANY (v_ids) AND j.finished_at IS NULL AND (j.lease_until IS NULL OR j.lease_until <= now())',
        'WHERE j.id = ANY (v_ids) AND j.finished_at IS NULL',
      ],
    ],
  },
  {
    name: 'cancelSome: does not look once more from the beginning',
    verb: 'delivery_cancel_some',
    changes: [['EXIT WHEN v_note.after_id = c_start AND v_note.after_account_id = 0', 'EXIT']],
  },
  {
    name: 'removeLane: does not look for jobs',
    verb: 'delivery_remove_lane',
    changes: [
      ["j.status = 'pending' LIMIT 1", "j.status = 'pending' AND false LIMIT 1"],
      // What it guards against happens within microseconds: chance met it in a third of the proofs.
      ['FOR v_version IN', 'PERFORM pg_sleep(0.01); FOR v_version IN'],
    ],
  },
  {
    name: 'removeLane: does not lock the lane',
    verb: 'delivery_remove_lane',
    changes: [
      ['ORDER BY l.moves DESC LIMIT 1 FOR UPDATE SKIP LOCKED', 'ORDER BY l.moves DESC LIMIT 1'],
    ],
  },
];

/** Puts a fault in; throws where a text to be replaced is not there exactly once, so that no mutant is blind. */
export async function applyMutant(pool: Pool, mutant: QueueMutant): Promise<void> {
  const { rows } = await pool.query<{ source: string }>(
    'SELECT pg_get_functiondef(oid) AS source FROM pg_proc WHERE proname = $1',
    [mutant.verb],
  );
  const [row, ...others] = rows;
  if (!row || others.length > 0) throw new Error(`${mutant.verb}: ${rows.length} functions`);
  let { source } = row;
  for (const [from, to] of mutant.changes) {
    const parts = source.split(from);
    if (parts.length !== 2) {
      throw new Error(`${mutant.name}: ${parts.length - 1} times in ${mutant.verb}: ${from}`);
    }
    source = parts.join(to);
  }
  await pool.query(source);
}
