-- For a claim that holds these lanes: lets those rest of which a job that is next is locked, by whoever holds it by hand, and returns
-- their names and the places of the others in their order. What it locks of those nobody can hold until the claim has it. A claim meets
-- the lanes that are due for longest first, so one such job would end every claim otherwise. Waits for nothing.
CREATE FUNCTION delivery_set_aside(p_places tid[], p_version smallint, p_slots integer, p_alone boolean, OUT names text[], OUT others tid[])
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  -- Each time that it is over a claim looks whether the job is still held. One that is claimed alone has a worker wait for an empty hand.
  c_rest constant interval := interval '10 seconds';
  c_rest_alone constant interval := interval '1 minute';
  v_aside tid[];
BEGIN
  WITH next AS MATERIALIZED (
    SELECT d.ctid AS place, j.id
    FROM delivery_lane d
    CROSS JOIN LATERAL (
      SELECT q.id FROM delivery_job q
      WHERE q.lane = d.lane AND q.version = p_version AND q.status = 'pending' AND q.run_at >= d.mark AND q.run_at <= now()
        AND (q.lease_until IS NULL OR q.lease_until <= now())
      ORDER BY q.run_at, q.id
      -- As many as the claim may look at.
      LIMIT CASE
        WHEN p_alone THEN delivery_lane_cap(d.lane, d.slots, p_slots)
        ELSE least(d.earned, delivery_lane_cap(d.lane, d.slots, p_slots))
      END + 1
    ) j
    WHERE d.ctid = ANY (p_places) AND d.held_reason IS NULL AND (d.not_before IS NULL OR d.not_before <= now())
  ), free AS MATERIALIZED (
    -- The lock that a claim's update takes.
    SELECT q.id FROM delivery_job q WHERE q.id = ANY (ARRAY(SELECT n.id FROM next n)) FOR NO KEY UPDATE SKIP LOCKED
  )
  SELECT coalesce(array_agg(n.place), '{}') INTO v_aside FROM next n WHERE n.id NOT IN (SELECT f.id FROM free f);

  WITH aside AS (
    UPDATE delivery_lane d
    SET not_before = greatest(d.not_before, now() + CASE WHEN p_alone THEN c_rest_alone ELSE c_rest END),
      next_at = greatest(d.not_before, now() + CASE WHEN p_alone THEN c_rest_alone ELSE c_rest END),
      moves = d.moves + 1
    WHERE d.ctid = ANY (v_aside)
    RETURNING d.lane
  )
  SELECT coalesce(array_agg(a.lane), '{}') INTO names FROM aside a;
  others := ARRAY(SELECT u.place FROM unnest(p_places) WITH ORDINALITY AS u(place, n) WHERE NOT u.place = ANY (v_aside) ORDER BY u.n);
END $$;
--> statement-breakpoint

DROP FUNCTION delivery_claim(text, smallint, integer, integer, boolean, integer, integer, integer, integer, integer, jsonb);
--> statement-breakpoint

-- Leases up to p_jobs due jobs of one kind and version, at most the free slots of each lane, round robin. Of lanes
-- without a recent success at most p_slow_jobs; of one owner's and of one host's lanes at most what the worker's own
-- count of them (p_held) leaves of p_owner_most and p_host_most; of a lane with a rate what that lets through. p_alone: the one job whose worker died at each of its
-- last claims; a lane with such a job is skipped otherwise. What its worker died of five times is dead. p_careful: waits for no job
-- that somebody holds; of each lane that rests for one there is a row without an id.
CREATE FUNCTION delivery_claim(
  p_kind text, p_version smallint, p_jobs integer, p_slow_jobs integer, p_alone boolean, p_lanes integer, p_slots integer,
  p_lease_ms integer, p_owner_most integer, p_host_most integer, p_held jsonb, p_careful boolean DEFAULT false
)
RETURNS TABLE (
  id uuid, lane text, lease_no bigint, attempts smallint, tries smallint, redelivery boolean, created_at timestamptz,
  expires_at timestamptz, event_id uuid, hook_id bigint, repository_id bigint, account_id bigint, own jsonb, content_id uuid,
  body text, parts jsonb, facts jsonb
)
LANGUAGE plpgsql VOLATILE
-- The plan must not depend on statistics: index look-ups a lane and a job, whatever the tables' size was when it was cached.
-- And it is made once: anew at each call it took longer than the claim itself (5.3 ms, and 1.7 without; beside a backlog 12 and 3).
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
-- All that changes jobs locks their lane first, so a claim, which holds its lanes, waits for a job only where somebody holds it by
-- hand; and then it is not there in a moment either.
SET lock_timeout = '100ms'
AS $$
#variable_conflict use_column
DECLARE
  c_rounds constant integer := 100;
  -- Claims without a result: from so many on a job is claimed alone, at so many it is dead.
  c_suspect constant smallint := 2;
  c_died constant smallint := 5;
  c_breaker constant smallint := 5;
  c_recent constant interval := interval '1 hour';
  v_now timestamptz := now();
  v_lease_end timestamptz := now() + p_lease_ms * interval '1 millisecond';
  -- Locked lanes by place in the table: it stands while they are locked, and a look-up by key would visit each dead
  -- version that an old snapshot keeps.
  v_places tid[];
  -- Of each lane by name: whether it is slow, its owner, its host.
  v_facts jsonb;
  v_found integer;
  -- From so many dead entries on the next look begins behind them (delivery_raise_floor); up to so many a look that comes
  -- short is made again from the beginning.
  c_dead constant integer := 100;
  c_many constant integer := 2000;
  -- A lane that is due for so long, and locked.
  c_passed_over constant interval := interval '100 milliseconds';
  v_standing text;
  v_name text;
  v_note text[];
  v_floor timestamptz;
  v_most integer;
  -- Entries of the index of due lanes that this transaction read.
  v_read bigint;
  v_read_before bigint;
  v_seen tid[];
  v_window integer;
  v_lone record;
  v_standings text[];
  v_noted boolean;
  v_held record;
BEGIN
  -- Apart: a condition that holds a query is begun as one, whether it comes to that or not.
  IF p_kind = 'email' THEN
    IF EXISTS (SELECT FROM delivery_relay r WHERE r.paused_until > v_now) THEN
      RETURN;
    END IF;
  END IF;

  -- More than once only where all that was seen had outlived its time, and ended; bounded, for a hook
  -- that was held for a week may have a great many.
  FOR round IN 1..c_rounds LOOP
    -- First statement: lock due lanes. Both conditions, or the partial index is not used.
    -- Proven lanes and slow ones are looked at apart, or a thousand slow ones would stand before a proven one.
    v_places := '{}';
    v_read := pg_stat_get_xact_tuples_returned('delivery_lane_due'::regclass);
    v_name := 'ghost.due_' || p_kind || '_' || p_version || '_';
    v_standings := CASE WHEN p_alone THEN ARRAY['suspect'] WHEN p_slow_jobs > 0 THEN ARRAY['proven', 'slow'] ELSE ARRAY['proven'] END;
    -- Both by one statement, where nothing is noted of either: each one that is begun takes its time, found or not.
    v_noted := p_alone OR p_slow_jobs < 1
      OR coalesce(current_setting(v_name || 'proven', true), '') <> '' OR coalesce(current_setting(v_name || 'slow', true), '') <> '';
    IF NOT v_noted THEN
      v_places := ARRAY(
        SELECT l.ctid FROM delivery_lane l
        WHERE l.kind = p_kind AND l.version = p_version AND l.standing = 'proven' AND l.next_at <= v_now AND l.next_at < 'infinity'
        ORDER BY l.next_at LIMIT p_lanes
        FOR UPDATE SKIP LOCKED
      ) || ARRAY(
        SELECT l.ctid FROM delivery_lane l
        WHERE l.kind = p_kind AND l.version = p_version AND l.standing = 'slow' AND l.next_at <= v_now AND l.next_at < 'infinity'
        ORDER BY l.next_at LIMIT least(p_lanes, 2 * p_slow_jobs + 10)
        FOR UPDATE SKIP LOCKED
      );
      v_read_before := v_read;
      v_read := pg_stat_get_xact_tuples_returned('delivery_lane_due'::regclass);
      -- Many dead entries: looked at again, one by one, to note where each begins.
      IF v_read - v_read_before - cardinality(v_places) > c_dead THEN
        v_places := '{}';
      ELSE
        v_standings := '{}';
      END IF;
    END IF;
    FOREACH v_standing IN ARRAY v_standings LOOP
      v_name := 'ghost.due_' || p_kind || '_' || p_version || '_' || v_standing;
      v_note := nullif(current_setting(v_name, true), '')::text[];
      v_floor := '-infinity';
      IF v_note IS NOT NULL AND v_note[1]::timestamptz > v_now THEN
        v_floor := v_note[2];
      END IF;
      -- Of slow ones some more than jobs may be taken of them, as some are held or at rest.
      v_most := CASE WHEN v_standing = 'slow' THEN least(p_lanes, 2 * p_slow_jobs + 10) ELSE p_lanes END;
      LOOP
        v_seen := ARRAY(
          SELECT l.ctid FROM delivery_lane l
          WHERE l.kind = p_kind AND l.version = p_version AND l.standing = v_standing
            AND l.next_at >= v_floor AND l.next_at <= v_now AND l.next_at < 'infinity'
          ORDER BY l.next_at LIMIT v_most
          FOR UPDATE SKIP LOCKED
        );
        v_read_before := v_read;
        v_read := pg_stat_get_xact_tuples_returned('delivery_lane_due'::regclass);
        EXIT WHEN v_floor = '-infinity' OR cardinality(v_seen) >= v_most OR v_note[3]::bigint > c_many;
        v_floor := '-infinity';
      END LOOP;
      IF v_read - v_read_before - cardinality(v_seen) > c_dead THEN
        PERFORM delivery_raise_floor(v_name, v_floor, coalesce((SELECT min(l.next_at) FROM delivery_lane l WHERE l.ctid = ANY (v_seen)), v_now),
          v_read - v_read_before, clock_timestamp() - v_now);
      ELSIF v_floor = '-infinity' AND v_note IS NOT NULL THEN
        -- What an old snapshot kept is gone.
        PERFORM set_config(v_name, '', false);
      END IF;
      v_places := v_places || v_seen;
    END LOOP;
    -- Whoever enqueues holds the lane until it commits, and whoever waits for it comes next: where one follows the other, a lane is
    -- never free for a look that does not wait. So one that was passed over for a while is waited for, by a claim that holds none.
    IF cardinality(v_places) = 0 AND round = 1 AND NOT p_alone THEN
      FOREACH v_standing IN ARRAY CASE WHEN p_slow_jobs > 0 THEN ARRAY['proven', 'slow'] ELSE ARRAY['proven'] END LOOP
        v_note := nullif(current_setting('ghost.due_' || p_kind || '_' || p_version || '_' || v_standing, true), '')::text[];
        v_floor := CASE WHEN v_note[1]::timestamptz > v_now THEN v_note[2]::timestamptz ELSE '-infinity' END;
        IF EXISTS (
          SELECT FROM delivery_lane l
          WHERE l.kind = p_kind AND l.version = p_version AND l.standing = v_standing
            AND l.next_at >= v_floor AND l.next_at <= v_now - c_passed_over AND l.next_at < 'infinity'
        ) THEN
          v_places := delivery_wait_for_lane(p_kind, p_version, v_standing, v_floor, v_now - c_passed_over);
        END IF;
        EXIT WHEN cardinality(v_places) > 0;
      END LOOP;
    END IF;
    IF cardinality(v_places) = 0 THEN
      RETURN;
    END IF;

    IF p_careful THEN
      SELECT a.names, a.others INTO v_held FROM delivery_set_aside(v_places, p_version, p_slots, p_alone) AS a;
      RETURN QUERY
      SELECT NULL::uuid, h.lane, 0::bigint, 0::smallint, 0::smallint, false, v_now, v_now, NULL::uuid, NULL::bigint, NULL::bigint,
        NULL::bigint, NULL::jsonb, NULL::uuid, NULL::text, NULL::jsonb, NULL::jsonb
      FROM unnest(v_held.names) AS h(lane);
      v_places := v_held.others;
      CONTINUE WHEN cardinality(v_places) = 0;
    END IF;

    -- Where there is little to do one lane is due, of which nothing is in hand, with one job. What follows is for many, and only to
    -- begin it takes longer than all of this (docs/decisions/0048). What is not as simple is left to it.
    IF cardinality(v_places) = 1 AND NOT p_alone THEN
      SELECT j.ids[1] AS id, j.run_at, d.standing <> 'proven' AS slow, d.owner_id, d.host,
        coalesce(d.last_success_at < v_now - c_recent, false) AS silent
      INTO v_lone
      FROM delivery_lane d
      CROSS JOIN LATERAL (
        SELECT count(*) AS jobs, bool_and(c.ready) AS ready, array_agg(c.id) AS ids, min(c.run_at) AS run_at
        FROM (
          SELECT q.id, q.run_at, q.run_at <= v_now AND q.lease_until IS NULL AND q.abandoned < c_suspect AND q.expires_at > v_now AS ready
          FROM delivery_job q
          WHERE q.lane = d.lane AND q.version = p_version AND q.status = 'pending' AND q.run_at >= d.mark
          ORDER BY q.run_at, q.id LIMIT 2
        ) c
      ) j
      WHERE d.ctid = v_places[1] AND j.jobs = 1 AND j.ready
        AND d.standing <> 'suspect' AND d.failures < c_breaker AND d.held_reason IS NULL AND d.per_minute IS NULL
        AND (d.not_before IS NULL OR d.not_before <= v_now)
        AND (d.owner_id IS NULL OR coalesce((p_held -> 'owners' ->> d.owner_id::text)::integer, 0) < p_owner_most)
        AND (d.host IS NULL OR coalesce((p_held -> 'hosts' ->> d.host)::integer, 0) < p_host_most);
      IF FOUND THEN
        RETURN QUERY
        UPDATE delivery_job t SET lease_no = t.lease_no + 1, lease_until = v_lease_end, abandoned = t.abandoned + 1
        FROM delivery_content c
        WHERE t.id = v_lone.id AND t.finished_at IS NULL AND t.lease_until IS NULL AND c.id = t.content_id
        RETURNING t.id, t.lane, t.lease_no, t.attempts, t.tries, t.redelivery, t.created_at, t.expires_at, t.event_id, t.hook_id,
          t.repository_id, t.account_id, t.own, t.content_id, c.body, c.parts, jsonb_build_array(v_lone.slow, v_lone.owner_id, v_lone.host);
        IF FOUND THEN
          -- Not full, even where it has one slot: nothing waits for that, so its settle need not make it due.
          UPDATE delivery_lane d
          SET "full" = false, moves = d.moves + 1,
            standing = CASE WHEN v_lone.silent THEN 'slow' ELSE d.standing END,
            earned = CASE WHEN v_lone.silent AND d.standing = 'proven' THEN 1 ELSE d.earned END,
            next_at = v_lease_end, mark = v_lone.run_at, leased_to = v_lone.run_at, leased_to_id = v_lone.id
          WHERE d.ctid = v_places[1];
          RETURN;
        END IF;
      END IF;
    END IF;
    -- Many lanes share what is asked for: to look at each as if the others had next to nothing cost a third of a claim of 20 jobs.
    v_window := CASE WHEN p_alone THEN p_jobs ELSE least(p_jobs, 1 + 3 * p_jobs / (2 * cardinality(v_places))) END;
    v_facts := (
      SELECT jsonb_object_agg(l.lane, jsonb_build_array(l.standing <> 'proven', l.owner_id, l.host))
      FROM delivery_lane l WHERE l.ctid = ANY (v_places)
    );

    -- Second statement, and so a new snapshot: it sees every job committed before the lanes were locked.
    RETURN QUERY
    WITH look AS MATERIALIZED (
      SELECT u.n, u.place, l.*, v.jobs, v.first_end, v.first_run_at, w.*
      FROM unnest(v_places) WITH ORDINALITY AS u(place, n)
      CROSS JOIN LATERAL (
        SELECT d.lane, d.next_at, d.mark, d.leased_to, d.leased_to_id, d.not_before, d.standing, d.owner_id, d.host,
          CASE
            WHEN d.failures >= c_breaker OR d.standing = 'suspect' OR d.last_success_at < v_now - c_recent THEN 1
            ELSE least(d.earned, delivery_lane_cap(d.lane, d.slots, p_slots))
          END AS slots,
          d.standing = 'proven' AND d.last_success_at < v_now - c_recent AS stale,
          d.held_reason IS NOT NULL AS held, coalesce(d.not_before > v_now, false) AS resting,
          d.per_minute, d.paid_at, delivery_rate_room(d.per_minute, d.paid_at, v_now) AS room,
          delivery_lane_cap(d.lane, d.slots, p_slots) AS cap
        FROM delivery_lane d WHERE d.ctid = u.place LIMIT 1
      ) l
      CROSS JOIN LATERAL (
        -- In flight, on any worker. The bound is a row, as many jobs may share one run_at.
        SELECT count(*) AS jobs, min(j.lease_until) AS first_end, min(j.run_at) AS first_run_at FROM delivery_job j
        WHERE j.lane = l.lane AND j.version = p_version AND j.status = 'pending'
          AND j.run_at >= l.mark AND (j.run_at, j.id) <= (l.leased_to, l.leased_to_id) AND j.lease_until > v_now
      ) v
      CROSS JOIN LATERAL (
        -- What could run now: up to the free slots, and one more to know whether work is left. What outlived its time
        -- or its workers ends here and takes no slot. The rows come in the index's order, and so do the arrays.
        SELECT count(*) AS seen, min(c.run_at) AS first_due_at,
          count(*) FILTER (WHERE c.abandoned >= c_suspect AND NOT c.ended) AS suspects,
          array_agg(c.id) FILTER (WHERE c.ended) AS ended,
          array_agg(c.id) FILTER (WHERE NOT c.ended AND (c.abandoned >= c_suspect) = p_alone) AS ids,
          array_agg(c.run_at) FILTER (WHERE NOT c.ended AND (c.abandoned >= c_suspect) = p_alone) AS run_ats,
          bool_or(c.lease_until IS NOT NULL) AS expired
        FROM (
          SELECT j.id, j.run_at, j.lease_until, j.abandoned, j.expires_at <= v_now OR j.abandoned >= c_died AS ended
          FROM delivery_job j
          WHERE j.lane = l.lane AND j.version = p_version AND j.status = 'pending' AND j.run_at >= l.mark AND j.run_at <= v_now
            AND (j.lease_until IS NULL OR j.lease_until <= v_now) AND NOT l.held AND NOT l.resting
          ORDER BY j.run_at, j.id
          -- To claim alone as many as the claim saw that made the lane suspect: the job may stand behind others.
          LIMIT CASE WHEN p_alone THEN l.cap ELSE least(greatest(l.slots - v.jobs, 0), v_window, l.room) END + 1
        ) c
      ) w
    ), turns AS MATERIALIZED (
      -- A lane's jobs up to its free slots, in turn; narrow rows, as each share sorts them anew. In each share an
      -- earlier turn comes first, so what is within all of them are a lane's first jobs.
      SELECT l.n, l.next_at, t.turn, l.standing = 'proven' AS proven, l.owner_id, l.host
      FROM look l
      CROSS JOIN LATERAL generate_series(1, least(l.slots - l.jobs, v_window, l.room, coalesce(cardinality(l.ids), 0))) AS t(turn)
      WHERE (l.suspects > 0) = p_alone
    ), shared AS MATERIALIZED (
      SELECT t.n, t.next_at, t.turn, t.proven,
        (t.owner_id IS NULL OR row_number() OVER (PARTITION BY t.owner_id ORDER BY t.turn, t.next_at, t.n)
          <= p_owner_most - coalesce((p_held -> 'owners' ->> t.owner_id::text)::integer, 0))
        AND (t.host IS NULL OR row_number() OVER (PARTITION BY t.host ORDER BY t.turn, t.next_at, t.n)
          <= p_host_most - coalesce((p_held -> 'hosts' ->> t.host)::integer, 0)) AS within
      FROM turns t
    ), picked AS MATERIALIZED (
      -- Round robin: every lane's first job before any lane's second, and of those the one that is due for longest. By place alone
      -- every proven lane had its turn before the first slow one, which was never sent beside a backlog of them.
      SELECT p.n, coalesce(max(p.turn) FILTER (WHERE p.may AND p.place <= p_jobs), 0)::integer AS taken, NOT bool_and(p.within) AS capped
      FROM (
        SELECT m.n, m.turn, m.within, m.may,
          count(*) FILTER (WHERE m.may) OVER (ORDER BY m.turn, m.next_at, m.n ROWS UNBOUNDED PRECEDING) AS place
        FROM (
          SELECT s.n, s.next_at, s.turn, s.within, s.within AND (s.proven OR p_alone OR
            count(*) FILTER (WHERE s.within AND NOT s.proven) OVER (ORDER BY s.turn, s.next_at, s.n ROWS UNBOUNDED PRECEDING)
              <= p_slow_jobs) AS may
          FROM shared s
        ) m
      ) p
      GROUP BY p.n
    ), given AS MATERIALIZED (
      -- A lane without due jobs keeps its row.
      SELECT l.*, coalesce(p.taken, 0) AS taken, coalesce(p.capped, false) AS capped, count(*) FILTER (WHERE p.capped) OVER () AS crowd
      FROM look l LEFT JOIN picked p ON p.n = l.n
    ), expired AS MATERIALIZED (
      SELECT j.id, j.lease_until
      FROM given g CROSS JOIN LATERAL unnest(g.ids[1:g.taken] || g.ended) AS e(id) JOIN delivery_job j ON j.id = e.id
      WHERE g.expired AND j.lease_until IS NOT NULL
    ), taken AS (
      -- The due condition again: an extend may have committed since the snapshot.
      UPDATE delivery_job j
      SET lease_no = j.lease_no + 1,
        status = CASE WHEN j.expires_at <= v_now OR j.abandoned >= c_died THEN 'dead' ELSE j.status END,
        finished_at = CASE WHEN j.expires_at <= v_now OR j.abandoned >= c_died THEN v_now END,
        last_error = CASE WHEN j.abandoned >= c_died THEN 'worker_died' WHEN j.expires_at <= v_now THEN 'expired' ELSE j.last_error END,
        lease_until = CASE WHEN j.expires_at <= v_now OR j.abandoned >= c_died THEN NULL ELSE v_lease_end END,
        abandoned = CASE WHEN j.expires_at <= v_now OR j.abandoned >= c_died THEN j.abandoned ELSE j.abandoned + 1 END
      WHERE j.id = ANY (ARRAY(SELECT unnest(g.ids[1:g.taken] || g.ended) FROM given g)) AND j.finished_at IS NULL AND j.run_at <= v_now
        AND (j.lease_until IS NULL OR j.lease_until <= v_now)
      RETURNING j.*
    ), given_up AS (
      -- A lease that ran out: its worker died, or lost it. The try was not charged, but it is shown. So is what outlived its time
      -- without a worker, by an attempt of the lease that nobody got: it could not be asked for again otherwise.
      INSERT INTO delivery_attempt (job_id, lease_no, hook_id, started_at, finished_at, outcome, reason, message, next_run_at)
      SELECT t.id, CASE WHEN d.id IS NULL THEN t.lease_no ELSE t.lease_no - 1 END, t.hook_id, least(d.lease_until, v_now), v_now,
        CASE WHEN d.id IS NULL THEN 'dead' ELSE 'abandoned' END,
        CASE WHEN d.id IS NULL THEN t.last_error ELSE 'lease_expired' END,
        CASE
          WHEN d.id IS NULL THEN 'Its time was over, and it is not sent any more.'
          WHEN t.status = 'pending' THEN 'The worker that held this job did not report; it is tried again.'
          WHEN t.last_error = 'worker_died' THEN 'The worker that held this job did not report, as each one before; it is not tried again.'
          ELSE 'The worker that held this job did not report, and its time was over; it is not tried again.'
        END,
        CASE WHEN t.status = 'pending' THEN v_now END
      FROM taken t LEFT JOIN expired d ON d.id = t.id
      WHERE d.id IS NOT NULL OR t.status = 'dead'
    ), moved AS (
      UPDATE delivery_lane d
      SET "full" = n.jobs + n.taken >= n.slots, moves = d.moves + 1,
        -- A suspect makes its lane one, until it ran alone and no other is in sight.
        standing = CASE
          WHEN n.held OR n.resting THEN d.standing
          WHEN n.suspects > 0 THEN 'suspect'
          WHEN (d.standing = 'suspect' AND n.jobs = 0) OR n.stale THEN 'slow'
          ELSE d.standing
        END,
        earned = CASE WHEN n.stale THEN 1 ELSE d.earned END,
        paid_at = CASE
          WHEN n.taken = 0 THEN d.paid_at
          WHEN n.per_minute IS NOT NULL THEN delivery_rate_paid(n.per_minute, n.paid_at, v_now, n.taken)
        END,
        next_at = CASE
          WHEN n.held THEN 'infinity'
          WHEN n.resting THEN n.not_before
          WHEN n.suspects > 0 AND NOT p_alone THEN v_now
          WHEN n.jobs + n.taken >= n.slots THEN least(n.first_end, v_lease_end)
          -- More could run than its rate lets through.
          WHEN n.taken >= n.room AND n.seen > n.taken + coalesce(cardinality(n.ended), 0)
            THEN delivery_rate_next(n.per_minute, delivery_rate_paid(n.per_minute, n.paid_at, v_now, n.taken))
          -- Others use up what its owner or host may have: a proven lane's turn comes soon, a slow one's can wait. The more wait the
          -- later, or a thousand of one owner, each due again at once, stand before every other lane.
          WHEN n.capped THEN clock_timestamp()
            + CASE WHEN n.standing = 'proven' THEN greatest(25, 5 * n.crowd) ELSE 250 END * interval '1 millisecond'
          WHEN n.seen > n.taken AND n.taken = 0 THEN n.next_at
          WHEN n.seen > n.taken THEN clock_timestamp()
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
        -- Before now there is nothing but what is in flight and what was seen to be due.
        mark = CASE WHEN n.held OR n.resting THEN d.mark ELSE coalesce(least(n.first_run_at, n.first_due_at), v_now) END,
        -- What is taken of a lane is its first jobs, so the last of them has the greatest (run_at, id).
        leased_to = CASE
          WHEN n.jobs > 0 AND (n.taken = 0 OR (n.leased_to, n.leased_to_id) > (n.run_ats[n.taken], n.ids[n.taken])) THEN n.leased_to
          ELSE coalesce(n.run_ats[n.taken], '-infinity')
        END,
        leased_to_id = CASE
          WHEN n.jobs > 0 AND (n.taken = 0 OR (n.leased_to, n.leased_to_id) > (n.run_ats[n.taken], n.ids[n.taken])) THEN n.leased_to_id
          ELSE coalesce(n.ids[n.taken], n.leased_to_id)
        END
      FROM given n
      WHERE d.ctid = n.place
    )
    -- Content travels once a claim, on the first of its jobs; looked up last, as each step before would copy it.
    SELECT t.id, t.lane, t.lease_no, t.attempts, t.tries, t.redelivery, t.created_at, t.expires_at, t.event_id, t.hook_id,
      t.repository_id, t.account_id, t.own, t.content_id, c.body, c.parts, v_facts -> t.lane
    FROM (
      SELECT s.*, row_number() OVER (PARTITION BY s.content_id ORDER BY s.id) = 1 AS first FROM taken s WHERE s.status = 'pending'
    ) t
    LEFT JOIN delivery_content c ON t.first AND c.id = t.content_id
    ORDER BY t.content_id, t.id;
    GET DIAGNOSTICS v_found = ROW_COUNT;
    -- A lane of which nothing was taken is still due where it had jobs that ended, or did not fit p_jobs.
    EXIT WHEN v_found > 0;
    EXIT WHEN NOT EXISTS (
      SELECT FROM jsonb_object_keys(v_facts) AS f(lane) JOIN delivery_lane l ON l.lane = f.lane AND l.version = p_version
      WHERE l.next_at <= v_now AND (l.standing = 'suspect') = p_alone
    );
  END LOOP;
END $$;
