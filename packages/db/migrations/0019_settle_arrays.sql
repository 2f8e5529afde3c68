-- Of arrays, one a field, and no longer of one json: json_to_recordset hashes the fields of each record by name, which took
-- 14.4 µs of an outcome, and this takes 7.1 (batches of 100).
DROP FUNCTION delivery_settle(json, text[], smallint[], integer, integer, jsonb);
--> statement-breakpoint

-- Writes outcomes under the fence, with what they mean for their lanes: a success proves one and earns it a slot, a
-- time-out takes all but one back; five failures in a row without a success open its breaker, which lets one job at a
-- time probe it, after pauses that double. Returns the jobs whose outcome counted: now, or before if this is a repeat.
-- p_parts: of each the timings, what its request head has besides p_head, and the response head.
CREATE FUNCTION delivery_settle(
  p_ids uuid[], p_lease_nos bigint[], p_lanes text[], p_versions smallint[], p_states text[], p_outcomes text[], p_reasons text[],
  p_charged boolean[], p_delays bigint[], p_holds boolean[], p_rests bigint[], p_faults text[], p_started_at timestamptz[],
  p_messages text[], p_codes integer[], p_bodies text[], p_parts jsonb, p_head jsonb, p_slots integer
) RETURNS TABLE (id uuid, lease_no bigint, status text)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  v_now timestamptz := now();
  v_settled integer;
BEGIN
  PERFORM FROM (SELECT DISTINCT u.lane, u.version FROM unnest(p_lanes, p_versions) AS u(lane, version) ORDER BY u.lane, u.version) g
  CROSS JOIN LATERAL (
    SELECT FROM delivery_lane l WHERE l.lane = g.lane AND l.version = g.version ORDER BY l.moves DESC LIMIT 1 FOR UPDATE
  ) k;

  RETURN QUERY
  WITH given AS MATERIALIZED (
    SELECT g.id, g.lease_no, g.lane, g.version, g.state, g.outcome, g.reason, g.charged, g.delay_ms, g.hold, g.rest_ms, g.fault, g.started_at,
      g.message, g.code, g.body_excerpt,
      nullif(g.parts -> 0, 'null') AS timings, nullif(g.parts -> 1, 'null') AS request_head, nullif(g.parts -> 2, 'null') AS response_head
    FROM ROWS FROM (
      unnest(
        p_ids, p_lease_nos, p_lanes, p_versions, p_states, p_outcomes, p_reasons, p_charged, p_delays, p_holds, p_rests, p_faults,
        p_started_at, p_messages, p_codes, p_bodies
      ),
      jsonb_array_elements(p_parts)
    ) AS g(
      id, lease_no, lane, version, state, outcome, reason, charged, delay_ms, hold, rest_ms, fault, started_at, message, code,
      body_excerpt, parts
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
      g.outcome, g.reason, g.message, g.code, g.timings, g.request_head, g.response_head, g.body_excerpt, g.hold, g.rest_ms, g.fault,
      g.state = 'pending' AND j.status = 'dead' AS outlived
  ), history AS (
    INSERT INTO delivery_attempt (
      job_id, lease_no, hook_id, number, started_at, finished_at, outcome, reason, message, status, timings,
      request_head, response_head, body_excerpt, next_run_at
    )
    SELECT s.id, s.lease_no, s.hook_id, CASE WHEN s.charged THEN s.tries END, coalesce(s.started_at, v_now), v_now,
      CASE WHEN s.outlived THEN 'dead' ELSE s.outcome END,
      s.reason, s.message, s.code, s.timings, p_head || s.request_head, s.response_head, s.body_excerpt,
      CASE WHEN s.status = 'pending' AND NOT coalesce(s.hold, false) THEN s.run_at END
    FROM settled s
  ), effects AS (
    SELECT s.lane, s.version,
      min(s.run_at) FILTER (WHERE s.status = 'pending') AS again_at,
      max(s.reason) FILTER (WHERE s.hold) AS held_reason,
      max(s.rest_ms) AS rest_ms,
      count(*) FILTER (WHERE s.status = 'delivered') AS successes,
      count(s.fault) AS faults,
      count(*) FILTER (WHERE s.fault = 'timed_out') AS timeouts
    FROM settled s GROUP BY s.lane, s.version
  ), judged AS (
    SELECT e.*, f.place, f.failures, CASE WHEN e.faults > 0 AND f.failures >= 5 THEN v_now + delivery_breaker_pause(f.failures) END AS probe_at
    FROM effects e
    CROSS JOIN LATERAL (
      SELECT d.ctid AS place, delivery_failures_after(d.failures, d.not_before > v_now, e.successes, e.faults) AS failures
      FROM delivery_lane d WHERE d.lane = e.lane AND d.version = e.version ORDER BY d.moves DESC LIMIT 1
    ) f
  ), moved AS (
    UPDATE delivery_lane d
    SET "full" = false, moves = d.moves + 1,
      mark = least(d.mark, e.again_at),
      held_reason = coalesce(d.held_reason, e.held_reason),
      held_at = coalesce(d.held_at, CASE WHEN e.held_reason IS NOT NULL THEN v_now END),
      failures = e.failures,
      failing_since = CASE
        WHEN e.successes > 0 THEN NULL
        WHEN e.faults > 0 THEN coalesce(d.failing_since, v_now)
        ELSE d.failing_since
      END,
      standing = CASE
        WHEN d.standing = 'suspect' THEN 'suspect'
        WHEN e.successes > 0 THEN 'proven'
        WHEN e.timeouts > 0 OR e.failures >= 5 THEN 'slow'
        ELSE d.standing
      END,
      earned = CASE
        WHEN e.successes = 0 AND (e.timeouts > 0 OR e.failures >= 5) THEN 1
        WHEN e.timeouts > 0 OR e.rest_ms IS NOT NULL THEN greatest(1, d.earned / 2)
        ELSE greatest(d.earned, least(coalesce(d.slots, p_slots), d.earned + e.successes))
      END,
      not_before = CASE
        WHEN e.rest_ms IS NOT NULL OR e.probe_at IS NOT NULL
          THEN greatest(d.not_before, v_now + e.rest_ms * interval '1 millisecond', e.probe_at)
        -- The success of a probe ends the breaker's pause; what a receiver asked for stays.
        WHEN e.successes > 0 AND d.failures >= 5 THEN NULL
        ELSE d.not_before
      END,
      next_at = CASE
        WHEN coalesce(d.held_reason, e.held_reason) IS NOT NULL THEN 'infinity'
        WHEN e.rest_ms IS NOT NULL OR e.probe_at IS NOT NULL
          THEN greatest(d.not_before, v_now + e.rest_ms * interval '1 millisecond', e.probe_at)
        WHEN e.successes > 0 AND d.failures >= 5 THEN v_now
        WHEN d.not_before > v_now THEN d.not_before
        WHEN d.full THEN v_now
        ELSE least(d.next_at, e.again_at)
      END,
      last_success_at = CASE WHEN e.successes > 0 THEN v_now ELSE d.last_success_at END
    FROM judged e
    WHERE d.ctid = e.place
      AND (d.full OR e.again_at IS NOT NULL OR e.held_reason IS NOT NULL OR e.rest_ms IS NOT NULL OR e.faults > 0
        OR (e.successes > 0 AND (d.failures > 0 OR d.failing_since IS NOT NULL OR d.standing = 'slow' OR d.earned < coalesce(d.slots, p_slots)
          -- Often enough to tell a living lane from a dead one, seldom enough to spare a write a settle.
          OR d.last_success_at IS NULL OR d.last_success_at < v_now - interval '10 seconds')))
  ), relay_works AS (
    -- A mail went through, and no newer fault lets the relay rest: what was noted of it is over.
    UPDATE delivery_relay r SET failures = 0, paused_until = NULL, reason = NULL
    WHERE r.failures > 0 AND r.paused_until <= v_now
      AND EXISTS (SELECT FROM settled s WHERE s.kind = 'email' AND s.status = 'delivered')
  )
  SELECT s.id, s.lease_no, s.status FROM settled s;

  -- A worker that never heard the answer settles again: what this lease had settled before counts, once.
  GET DIAGNOSTICS v_settled = ROW_COUNT;
  IF v_settled < cardinality(p_ids) THEN
    RETURN QUERY
    SELECT j.id, g.lease_no, j.status
    FROM unnest(p_ids, p_lease_nos) AS g(id, lease_no)
    JOIN delivery_job j ON j.id = g.id
    WHERE EXISTS (
      SELECT FROM delivery_attempt a
      WHERE a.job_id = g.id AND a.lease_no = g.lease_no AND a.finished_at < v_now AND a.outcome <> 'abandoned'
    );
  END IF;
END $$;
