-- The verbs of the queue. Lock order everywhere: lanes in (lane, version) order, then jobs.
-- A claim never waits for a lane (SKIP LOCKED); everyone else holds a lane only until it commits.
-- Jobs that are named by id are tested with `finished_at IS NULL`, which a CHECK makes the same as
-- `status = 'pending'`: the latter invites the planner to the lane index, before it has statistics.

-- Queue storage: narrow rows updated in place, so room on the page and eager vacuum by count.
ALTER TABLE delivery_job SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_insert_scale_factor = 0.2);
--> statement-breakpoint
ALTER TABLE delivery_lane SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
--> statement-breakpoint
ALTER TABLE outbox_progress SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
--> statement-breakpoint

-- Inserts jobs whose key is new, then touches their lanes, last in the transaction and in order.
-- The lane row is locked even when nothing in it changes: that lock is what keeps a claim from
-- emptying the lane while this transaction is open (docs/decisions/0032).
-- Keys that exist are looked for, not met: ON CONFLICT writes 48 bytes of WAL more for every row
-- (measured, speculative insertion), for a race that hardly ever happens. Where it does, the insert
-- starts again, and its new snapshot sees the other's key. A scalar subquery, and no sequential scan:
-- a plan that was cached while the table was small would otherwise read all of it for each call.
CREATE FUNCTION delivery_enqueue(p_jobs json) RETURNS integer
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET jit = off AS $$
DECLARE
  v_inserted integer;
  v_constraint text;
  v_tries integer := 0;
BEGIN
  IF current_setting('ghost.enqueued', true) = 'yes' THEN
    RAISE EXCEPTION 'delivery_enqueue ran twice in one transaction'
      USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Hand over all jobs of a transaction in one call: two calls could deadlock on keys and lanes.';
  END IF;
  PERFORM set_config('ghost.enqueued', 'yes', true);

  LOOP
    BEGIN
      WITH made AS (
        INSERT INTO delivery_job (
          id, idempotency_key, event_id, content_id, kind, version, lane, hook_id, repository_id, account_id,
          own, run_at, expires_at
        )
        SELECT DISTINCT ON (j.key) j.id, j.key, j.event_id, j.content_id, j.kind, j.version, j.lane, j.hook_id,
          j.repository_id, j.account_id, j.own, now() + coalesce(j.delay_ms, 0) * interval '1 millisecond',
          now() + interval '7 days'
        FROM json_to_recordset(p_jobs) AS j(
          id uuid, key text, event_id uuid, content_id uuid, kind text, version smallint, lane text, hook_id bigint,
          repository_id bigint, account_id bigint, own jsonb, delay_ms bigint
        )
        WHERE (SELECT d.id FROM delivery_job d WHERE d.idempotency_key = j.key) IS NULL
        ORDER BY j.key, j.id
        RETURNING lane, version, kind, run_at
      ), touched AS (
        INSERT INTO delivery_lane (lane, version, kind, next_at, mark)
        SELECT lane, version, min(kind), min(run_at), min(run_at) FROM made GROUP BY lane, version ORDER BY lane, version
        ON CONFLICT (lane, version) DO UPDATE
          SET next_at = least(delivery_lane.next_at, excluded.next_at), mark = least(delivery_lane.mark, excluded.mark)
          WHERE excluded.next_at < delivery_lane.next_at OR excluded.mark < delivery_lane.mark
      )
      SELECT count(*) INTO v_inserted FROM made;
      EXIT;
    EXCEPTION WHEN unique_violation THEN
      GET STACKED DIAGNOSTICS v_constraint = CONSTRAINT_NAME;
      v_tries := v_tries + 1;
      IF v_constraint <> 'delivery_job_idempotency_key_unique' OR v_tries = 10 THEN
        RAISE;
      END IF;
    END;
  END LOOP;

  IF v_inserted > 0 THEN
    PERFORM pg_notify('ghost_delivery', '');
  END IF;
  RETURN v_inserted;
END $$;
--> statement-breakpoint

-- Leases up to p_jobs due jobs of one kind and version, at most the free slots of each lane, round robin.
CREATE FUNCTION delivery_claim(p_kind text, p_version smallint, p_jobs integer, p_lanes integer, p_slots integer, p_lease_ms integer)
RETURNS TABLE (
  id uuid, lane text, version smallint, kind text, lease_no bigint, attempts smallint, tries smallint, abandoned smallint,
  redelivery boolean, created_at timestamptz, expires_at timestamptz, event_id uuid, hook_id bigint, repository_id bigint,
  account_id bigint, own jsonb, content_id uuid, body text, parts jsonb
)
LANGUAGE plpgsql VOLATILE
-- The plan must not depend on statistics: index look-ups a lane and a job, whatever the tables' size was when it was cached.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  c_rounds constant integer := 100;
  v_now timestamptz := now();
  v_lease_end timestamptz := now() + p_lease_ms * interval '1 millisecond';
  v_lanes text[];
  v_found integer;
BEGIN
  IF p_kind = 'email' AND EXISTS (SELECT FROM delivery_relay r WHERE r.paused_until > v_now) THEN
    RETURN;
  END IF;

  -- More than once only where all that was seen had outlived its time, and ended; bounded, for a hook
  -- that was held for a week may have a great many.
  FOR round IN 1..c_rounds LOOP
    -- First statement: lock due lanes. Both conditions, or the partial index is not used.
    v_lanes := ARRAY(
      SELECT l.lane FROM delivery_lane l
      WHERE l.kind = p_kind AND l.version = p_version AND l.next_at <= v_now AND l.next_at < 'infinity'
      ORDER BY l.next_at LIMIT p_lanes
      FOR UPDATE SKIP LOCKED
    );
    IF cardinality(v_lanes) = 0 THEN
      RETURN;
    END IF;

    -- Second statement, and so a new snapshot: it sees every job committed before the lanes were locked.
    RETURN QUERY
    WITH look AS MATERIALIZED (
      SELECT u.place, l.*, v.jobs, v.first_end, w.ids, w.run_ats, w.lease_ends, w.life_ends
      FROM unnest(v_lanes) WITH ORDINALITY AS u(lane, place)
      CROSS JOIN LATERAL (
        SELECT d.lane, d.version, d.next_at, d.mark, d.leased_to, d.leased_to_id, d.not_before, coalesce(d.slots, p_slots) AS slots,
          d.held_reason IS NOT NULL AS held, coalesce(d.not_before > v_now, false) AS resting
        FROM delivery_lane d WHERE d.lane = u.lane AND d.version = p_version LIMIT 1
      ) l
      CROSS JOIN LATERAL (
        -- In flight, on any worker. The bound is a row, as many jobs may share one run_at.
        SELECT count(*) AS jobs, min(j.lease_until) AS first_end FROM delivery_job j
        WHERE j.lane = u.lane AND j.version = p_version AND j.status = 'pending'
          AND j.run_at >= l.mark AND (j.run_at, j.id) <= (l.leased_to, l.leased_to_id) AND j.lease_until > v_now
      ) v
      CROSS JOIN LATERAL (
        -- What could run now: up to the free slots, and one more to know whether work is left.
        SELECT array_agg(c.id ORDER BY c.run_at, c.id) AS ids, array_agg(c.run_at ORDER BY c.run_at, c.id) AS run_ats,
          array_agg(c.lease_until ORDER BY c.run_at, c.id) AS lease_ends,
          array_agg(c.expires_at ORDER BY c.run_at, c.id) AS life_ends
        FROM (
          SELECT j.id, j.run_at, j.lease_until, j.expires_at FROM delivery_job j
          WHERE j.lane = u.lane AND j.version = p_version AND j.status = 'pending' AND j.run_at >= l.mark AND j.run_at <= v_now
            AND (j.lease_until IS NULL OR j.lease_until <= v_now) AND NOT l.held AND NOT l.resting
          ORDER BY j.run_at, j.id
          LIMIT least(greatest(l.slots - v.jobs, 0), p_jobs) + 1
        ) c
      ) w
    ), seen AS MATERIALIZED (
      -- A lane without due jobs keeps one row. What outlived its time ends here and takes no slot.
      SELECT k.place, k.lane, k.version, k.next_at, k.mark, k.leased_to, k.leased_to_id, k.not_before, k.slots, k.held, k.resting,
        k.jobs, k.first_end, e.id, e.run_at, e.lease_until, e.rank, coalesce(e.life_end <= v_now, false) AS outlived,
        count(*) FILTER (WHERE e.life_end > v_now) OVER (PARTITION BY k.place ORDER BY e.rank) AS turn
      FROM look k
      LEFT JOIN LATERAL unnest(k.ids, k.run_ats, k.lease_ends, k.life_ends)
        WITH ORDINALITY AS e(id, run_at, lease_until, life_end, rank) ON true
    ), due AS MATERIALIZED (
      -- Round robin: every lane's first job before any lane's second.
      SELECT f.*, f.fits AND row_number() OVER (ORDER BY NOT f.fits, f.turn, f.place) <= p_jobs AS picked
      FROM (SELECT s.*, s.id IS NOT NULL AND NOT s.outlived AND s.turn <= s.slots - s.jobs AS fits FROM seen s) f
    ), expired AS MATERIALIZED (
      SELECT d.id, d.lease_until FROM due d WHERE d.picked AND d.lease_until IS NOT NULL
    ), taken AS (
      -- The due condition again: an extend may have committed since the snapshot.
      UPDATE delivery_job j
      SET lease_no = j.lease_no + 1,
        status = CASE WHEN j.expires_at <= v_now THEN 'dead' ELSE j.status END,
        finished_at = CASE WHEN j.expires_at <= v_now THEN v_now END,
        last_error = CASE WHEN j.expires_at <= v_now THEN 'expired' ELSE j.last_error END,
        lease_until = CASE WHEN j.expires_at <= v_now THEN NULL ELSE v_lease_end END,
        abandoned = CASE WHEN j.expires_at <= v_now THEN 0 ELSE j.abandoned + 1 END
      WHERE j.id = ANY (ARRAY(SELECT d.id FROM due d WHERE d.picked OR d.outlived)) AND j.finished_at IS NULL AND j.run_at <= v_now
        AND (j.lease_until IS NULL OR j.lease_until <= v_now)
      RETURNING j.*
    ), given_up AS (
      -- A lease that ran out: its worker died, or lost it. The try was not charged, but it is shown.
      INSERT INTO delivery_attempt (job_id, lease_no, hook_id, started_at, finished_at, outcome, reason, message, next_run_at)
      SELECT t.id, t.lease_no - 1, t.hook_id, least(d.lease_until, v_now), v_now, 'abandoned', 'lease_expired',
        'The worker that held this job did not report; it is tried again.', v_now
      FROM expired d JOIN taken t ON t.id = d.id
    ), moved AS (
      UPDATE delivery_lane d
      SET "full" = n.jobs + n.taken >= n.slots,
        next_at = CASE
          WHEN n.held THEN 'infinity'
          WHEN n.resting THEN n.not_before
          WHEN n.jobs + n.taken >= n.slots THEN least(n.first_end, v_lease_end)
          WHEN n.more AND n.taken = 0 THEN n.next_at
          WHEN n.more THEN clock_timestamp()
          ELSE least(
            coalesce((
              SELECT j.run_at FROM delivery_job j
              WHERE j.lane = n.lane AND j.version = p_version AND j.status = 'pending' AND j.run_at > v_now
              ORDER BY j.run_at LIMIT 1
            ), 'infinity'),
            coalesce(n.first_end, 'infinity'),
            CASE WHEN n.taken > 0 THEN v_lease_end ELSE 'infinity' END
          )
        END,
        mark = coalesce((
          SELECT j.run_at FROM delivery_job j
          WHERE j.lane = n.lane AND j.version = p_version AND j.status = 'pending' AND j.run_at >= n.mark
          ORDER BY j.run_at LIMIT 1
        ), v_now),
        leased_to = CASE
          WHEN n.jobs > 0 AND (n.taken = 0 OR (n.leased_to, n.leased_to_id) > (n.top_run_at, n.top_id)) THEN n.leased_to
          ELSE coalesce(n.top_run_at, '-infinity')
        END,
        leased_to_id = CASE
          WHEN n.jobs > 0 AND (n.taken = 0 OR (n.leased_to, n.leased_to_id) > (n.top_run_at, n.top_id)) THEN n.leased_to_id
          ELSE coalesce(n.top_id, n.leased_to_id)
        END
      FROM (
        -- What is picked of a lane is its first living jobs, so the last of them has the greatest (run_at, id).
        SELECT d.lane, d.version, d.next_at, d.mark, d.leased_to, d.leased_to_id, d.not_before, d.slots, d.held, d.resting, d.jobs,
          d.first_end, count(*) FILTER (WHERE d.picked) AS taken,
          count(*) FILTER (WHERE d.id IS NOT NULL AND (d.outlived OR NOT d.picked)) > 0 AS more,
          (array_agg(d.run_at ORDER BY d.rank DESC) FILTER (WHERE d.picked))[1] AS top_run_at,
          (array_agg(d.id ORDER BY d.rank DESC) FILTER (WHERE d.picked))[1] AS top_id
        FROM due d
        GROUP BY d.place, d.lane, d.version, d.next_at, d.mark, d.leased_to, d.leased_to_id, d.not_before, d.slots, d.held, d.resting,
          d.jobs, d.first_end
      ) n
      -- The version comes from the row too: as a constant it makes the planner scan all lanes.
      WHERE d.lane = n.lane AND d.version = n.version
    )
    -- Content travels once a claim, on the first of its jobs.
    SELECT t.id, t.lane, t.version, t.kind, t.lease_no, t.attempts, t.tries, t.abandoned, t.redelivery, t.created_at,
      t.expires_at, t.event_id, t.hook_id, t.repository_id, t.account_id, t.own, t.content_id,
      CASE WHEN row_number() OVER shared = 1 THEN c.body END,
      CASE WHEN row_number() OVER shared = 1 THEN c.parts END
    FROM taken t JOIN delivery_content c ON c.id = t.content_id
    WHERE t.status = 'pending'
    WINDOW shared AS (PARTITION BY t.content_id ORDER BY t.id)
    ORDER BY t.content_id, t.id;
    GET DIAGNOSTICS v_found = ROW_COUNT;
    -- A lane of which nothing was taken is still due where it had jobs that ended, or did not fit p_jobs.
    EXIT WHEN v_found > 0 OR NOT EXISTS (
      SELECT FROM delivery_lane l WHERE l.lane = ANY (v_lanes) AND l.version = p_version AND l.next_at <= v_now
    );
  END LOOP;
END $$;
--> statement-breakpoint

-- Locks the lanes that a list of leases names, in order.
CREATE FUNCTION delivery_lock_lanes(p_leases json) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM FROM delivery_lane l
  JOIN (SELECT DISTINCT g.lane, g.version FROM json_to_recordset(p_leases) AS g(lane text, version smallint)) g
    ON g.lane = l.lane AND g.version = l.version
  ORDER BY l.lane, l.version
  FOR UPDATE OF l;
END $$;
--> statement-breakpoint

-- Writes outcomes under the fence and returns the jobs whose outcome counted: now, or before if this is a repeat.
CREATE FUNCTION delivery_settle(p_settlements json) RETURNS TABLE (id uuid, lease_no bigint, status text)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  v_now timestamptz := now();
  v_settled integer;
BEGIN
  PERFORM delivery_lock_lanes(p_settlements);

  RETURN QUERY
  WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(p_settlements) AS g(
      id uuid, lease_no bigint, lane text, version smallint, state text, outcome text, reason text, charged boolean,
      delay_ms bigint, hold boolean, rest_ms bigint, started_at timestamptz, message text, code integer, timings jsonb,
      request_head jsonb, response_head jsonb, body_excerpt text
    )
  ), settled AS (
    UPDATE delivery_job j
    SET status = CASE WHEN g.state = 'pending' AND v_now + g.delay_ms * interval '1 millisecond' >= j.expires_at THEN 'dead' ELSE g.state END,
      run_at = CASE WHEN g.state = 'pending' THEN v_now + g.delay_ms * interval '1 millisecond' ELSE j.run_at END,
      finished_at = CASE WHEN g.state = 'pending' AND v_now + g.delay_ms * interval '1 millisecond' < j.expires_at THEN NULL ELSE v_now END,
      attempts = j.attempts + g.charged::integer,
      tries = j.tries + g.charged::integer,
      abandoned = 0,
      lease_until = NULL,
      last_error = g.reason
    FROM given g
    WHERE j.id = g.id AND j.lease_no = g.lease_no AND j.lease_until IS NOT NULL
    RETURNING j.id, j.lease_no, j.lane, j.version, j.kind, j.status, j.run_at, j.tries, j.hook_id, g.charged, g.started_at,
      g.outcome, g.reason, g.message, g.code, g.timings, g.request_head, g.response_head, g.body_excerpt, g.hold, g.rest_ms,
      g.state = 'pending' AND j.status = 'dead' AS outlived
  ), history AS (
    INSERT INTO delivery_attempt (
      job_id, lease_no, hook_id, number, started_at, finished_at, outcome, reason, message, status, timings,
      request_head, response_head, body_excerpt, next_run_at
    )
    SELECT s.id, s.lease_no, s.hook_id, CASE WHEN s.charged THEN s.tries END, coalesce(s.started_at, v_now), v_now,
      CASE WHEN s.outlived THEN 'dead' ELSE s.outcome END,
      s.reason, s.message, s.code, s.timings, s.request_head, s.response_head, s.body_excerpt,
      CASE WHEN s.status = 'pending' AND NOT coalesce(s.hold, false) THEN s.run_at END
    FROM settled s
  ), effects AS (
    SELECT s.lane, s.version,
      min(s.run_at) FILTER (WHERE s.status = 'pending') AS again_at,
      max(s.reason) FILTER (WHERE s.hold) AS held_reason,
      max(s.rest_ms) AS rest_ms,
      bool_or(s.status = 'delivered') AS success
    FROM settled s GROUP BY s.lane, s.version
  ), moved AS (
    UPDATE delivery_lane d
    SET "full" = false,
      mark = least(d.mark, e.again_at),
      held_reason = coalesce(d.held_reason, e.held_reason),
      held_at = coalesce(d.held_at, CASE WHEN e.held_reason IS NOT NULL THEN v_now END),
      not_before = CASE WHEN e.rest_ms IS NULL THEN d.not_before ELSE greatest(d.not_before, v_now + e.rest_ms * interval '1 millisecond') END,
      next_at = CASE
        WHEN coalesce(d.held_reason, e.held_reason) IS NOT NULL THEN 'infinity'
        WHEN e.rest_ms IS NOT NULL OR d.not_before > v_now THEN greatest(d.not_before, v_now + coalesce(e.rest_ms, 0) * interval '1 millisecond')
        WHEN d.full THEN v_now
        ELSE least(d.next_at, e.again_at)
      END,
      last_success_at = CASE WHEN e.success THEN v_now ELSE d.last_success_at END
    FROM effects e
    WHERE d.lane = e.lane AND d.version = e.version
      AND (d.full OR e.again_at IS NOT NULL OR e.held_reason IS NOT NULL OR e.rest_ms IS NOT NULL
        -- Often enough to tell a living lane from a dead one, seldom enough to spare a write a settle.
        OR (e.success AND (d.last_success_at IS NULL OR d.last_success_at < v_now - interval '10 seconds')))
  ), relay_works AS (
    -- A mail went through, and no newer fault lets the relay rest: what was noted of it is over.
    UPDATE delivery_relay r SET failures = 0, paused_until = NULL, reason = NULL
    WHERE r.failures > 0 AND r.paused_until <= v_now
      AND EXISTS (SELECT FROM settled s WHERE s.kind = 'email' AND s.status = 'delivered')
  )
  SELECT s.id, s.lease_no, s.status FROM settled s;

  -- A worker that never heard the answer settles again: what this lease had settled before counts, once.
  GET DIAGNOSTICS v_settled = ROW_COUNT;
  IF v_settled < json_array_length(p_settlements) THEN
    RETURN QUERY
    SELECT j.id, g.lease_no, j.status
    FROM json_to_recordset(p_settlements) AS g(id uuid, lease_no bigint)
    JOIN delivery_job j ON j.id = g.id
    WHERE EXISTS (
      SELECT FROM delivery_attempt a
      WHERE a.job_id = g.id AND a.lease_no = g.lease_no AND a.finished_at < v_now AND a.outcome <> 'abandoned'
    );
  END IF;
END $$;
--> statement-breakpoint

-- Moves the end of leases that are still current; returns the jobs still held.
CREATE FUNCTION delivery_extend(p_leases json, p_lease_ms integer) RETURNS TABLE (id uuid, lease_no bigint)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  PERFORM delivery_lock_lanes(p_leases);
  RETURN QUERY
  UPDATE delivery_job j SET lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
  FROM json_to_recordset(p_leases) AS g(id uuid, lease_no bigint)
  -- A lease that ended stays ended: its slot may have been given away already.
  WHERE j.id = g.id AND j.lease_no = g.lease_no AND j.lease_until > clock_timestamp()
  RETURNING j.id, j.lease_no;
END $$;
--> statement-breakpoint

-- Gives unstarted jobs back: no attempt is charged, and they are due at once.
CREATE FUNCTION delivery_release(p_leases json) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_released integer;
BEGIN
  PERFORM delivery_lock_lanes(p_leases);
  WITH released AS (
    UPDATE delivery_job j SET lease_until = NULL, abandoned = 0
    FROM json_to_recordset(p_leases) AS g(id uuid, lease_no bigint)
    WHERE j.id = g.id AND j.lease_no = g.lease_no AND j.lease_until IS NOT NULL
    RETURNING j.lane, j.version, j.run_at
  ), moved AS (
    UPDATE delivery_lane d SET "full" = false, next_at = least(d.next_at, now()), mark = least(d.mark, r.run_at)
    FROM (SELECT lane, version, min(run_at) AS run_at FROM released GROUP BY lane, version) r
    WHERE d.lane = r.lane AND d.version = r.version
  )
  SELECT count(*) INTO v_released FROM released;
  IF v_released > 0 THEN
    PERFORM pg_notify('ghost_delivery', '');
  END IF;
  RETURN v_released;
END $$;
--> statement-breakpoint

-- Ends pending jobs whose reason is gone; a worker that holds one loses its fence. Returns how many.
CREATE FUNCTION delivery_cancel(p_ids uuid[], p_reason text) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_cancelled integer;
BEGIN
  IF cardinality(p_ids) = 0 THEN
    RETURN 0;
  END IF;
  PERFORM FROM delivery_lane l
  WHERE (l.lane, l.version) IN (SELECT j.lane, j.version FROM delivery_job j WHERE j.id = ANY (p_ids))
  ORDER BY l.lane, l.version
  FOR UPDATE OF l;
  WITH ended AS (
    UPDATE delivery_job j
    SET status = 'cancelled', finished_at = now(), lease_until = NULL, lease_no = j.lease_no + 1, last_error = p_reason
    WHERE j.id = ANY (p_ids) AND j.finished_at IS NULL
    RETURNING j.lane, j.version
  ), moved AS (
    -- A full lane may have a free slot now.
    UPDATE delivery_lane d SET "full" = false, next_at = least(d.next_at, now())
    WHERE d.full AND (d.lane, d.version) IN (SELECT e.lane, e.version FROM ended e)
  )
  SELECT count(*) INTO v_cancelled FROM ended;
  RETURN v_cancelled;
END $$;
--> statement-breakpoint

-- A person asks for jobs again: same id, same bytes, a fresh budget. Mail cancelled for access or
-- suppression is final. Returns the jobs that are pending again.
CREATE FUNCTION delivery_redeliver(p_ids uuid[]) RETURNS SETOF uuid
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM FROM delivery_lane l
  WHERE (l.lane, l.version) IN (SELECT j.lane, j.version FROM delivery_job j WHERE j.id = ANY (p_ids))
  ORDER BY l.lane, l.version
  FOR UPDATE OF l;
  RETURN QUERY
  WITH again AS (
    UPDATE delivery_job j
    SET status = 'pending', attempts = 0, abandoned = 0, redelivery = true, run_at = now(), expires_at = now() + interval '7 days',
      finished_at = NULL, lease_until = NULL, lease_no = j.lease_no + 1
    WHERE j.id = ANY (p_ids) AND j.status <> 'pending'
      AND NOT (j.status = 'cancelled' AND j.last_error IN ('access_lost', 'address_suppressed'))
    RETURNING j.id, j.lane, j.version
  ), moved AS (
    UPDATE delivery_lane d SET next_at = least(d.next_at, now()), mark = least(d.mark, now())
    WHERE (d.lane, d.version) IN (SELECT a.lane, a.version FROM again a)
  )
  SELECT a.id FROM again a;
  PERFORM pg_notify('ghost_delivery', '');
END $$;
--> statement-breakpoint

-- Holds every version of a lane until someone resumes it; makes the rows when the lane is new.
CREATE FUNCTION delivery_hold(p_lane text, p_kind text, p_version smallint, p_reason text) RETURNS void
LANGUAGE sql VOLATILE AS $$
  INSERT INTO delivery_lane (lane, version, kind, held_reason, held_at) VALUES (p_lane, p_version, p_kind, p_reason, now())
  ON CONFLICT (lane, version) DO NOTHING;
  UPDATE delivery_lane SET held_reason = p_reason, held_at = now(), next_at = 'infinity' WHERE lane = p_lane;
$$;
--> statement-breakpoint

-- Ends a hold: what was kept is due again. Returns whether the lane was held.
CREATE FUNCTION delivery_resume(p_lane text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  UPDATE delivery_lane SET held_reason = NULL, held_at = NULL, not_before = NULL, "full" = false, next_at = now()
  WHERE lane = p_lane AND held_reason IS NOT NULL;
  IF FOUND THEN
    PERFORM pg_notify('ghost_delivery', '');
    RETURN true;
  END IF;
  RETURN false;
END $$;
--> statement-breakpoint

-- Milliseconds until a lane of the given kinds and versions is due (0: now); null when nothing is pending.
-- Asked only by a worker that found no work, so it first tidies: a lane whose last job was settled
-- keeps the lease's end as its next_at, and would wake the worker once more in vain.
CREATE FUNCTION delivery_next_due(p_kinds text[], p_versions smallint[]) RETURNS double precision
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  c_tidied constant integer := 500;
  v_kind text;
  v_version smallint;
  v_lanes text[];
  v_due timestamptz;
BEGIN
  FOR v_kind, v_version IN SELECT * FROM unnest(p_kinds, p_versions) LOOP
    v_lanes := ARRAY(
      SELECT l.lane FROM delivery_lane l
      WHERE l.kind = v_kind AND l.version = v_version AND l.next_at > now() AND l.next_at < 'infinity'
      ORDER BY l.next_at LIMIT c_tidied
      FOR UPDATE SKIP LOCKED
    );
    -- A second statement, for the snapshot must be newer than the lock (as in the claim).
    UPDATE delivery_lane l SET next_at = 'infinity', "full" = false
    WHERE l.lane = ANY (v_lanes) AND l.version = v_version
      AND NOT EXISTS (
        SELECT FROM delivery_job j
        WHERE j.lane = l.lane AND j.version = l.version AND j.status = 'pending' AND j.run_at >= l.mark
      );
  END LOOP;
  SELECT min(due.at) INTO v_due
  FROM unnest(p_kinds, p_versions) AS k(kind, version)
  CROSS JOIN LATERAL (
    SELECT CASE WHEN k.kind = 'email' THEN greatest(l.next_at, (SELECT r.paused_until FROM delivery_relay r)) ELSE l.next_at END AS at
    FROM delivery_lane l
    WHERE l.kind = k.kind AND l.version = k.version AND l.next_at < 'infinity'
    ORDER BY l.next_at LIMIT 1
  ) due;
  RETURN CASE WHEN v_due IS NOT NULL THEN greatest(0, ceil(extract(epoch FROM v_due - now()) * 1000)) END;
END $$;
