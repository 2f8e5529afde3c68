CREATE TABLE "delivery_lane_key" (
	"lane" text NOT NULL,
	"version" smallint NOT NULL,
	CONSTRAINT "delivery_lane_key_pkey" PRIMARY KEY("lane","version")
);
--> statement-breakpoint
ALTER TABLE "delivery_lane" ADD COLUMN "moves" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "delivery_lane" DROP CONSTRAINT "delivery_lane_pkey";
--> statement-breakpoint
ALTER TABLE "delivery_lane" ADD CONSTRAINT "delivery_lane_pkey" PRIMARY KEY("lane","version","moves");
--> statement-breakpoint

-- While some session holds an old snapshot nothing that an update leaves behind can be removed, and a lane is updated twice a
-- job. What a look costs must not follow from that: see docs/decisions/0038.

INSERT INTO delivery_lane_key (lane, version) SELECT lane, version FROM delivery_lane;
--> statement-breakpoint

-- One row a lane: its own key ends in the count of its moves. The row in delivery_lane_key is locked by whoever makes the
-- lane, and never updated otherwise; a lane that exists is not made again.
CREATE FUNCTION delivery_lane_once() RETURNS trigger
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  INSERT INTO delivery_lane_key (lane, version) VALUES (NEW.lane, NEW.version)
  ON CONFLICT (lane, version) DO UPDATE SET lane = excluded.lane;
  -- A second statement: it sees what was committed before the lock.
  IF EXISTS (SELECT FROM delivery_lane l WHERE l.lane = NEW.lane AND l.version = NEW.version) THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint

CREATE TRIGGER delivery_lane_once BEFORE INSERT ON delivery_lane FOR EACH ROW EXECUTE FUNCTION delivery_lane_once();
--> statement-breakpoint

-- Notes for this connection alone where its looks at due lanes begin, until when, and how many dead entries the last full
-- look read: below are only those of lanes that moved on, which an old snapshot keeps. Without one there are few, and none is noted.
CREATE FUNCTION delivery_raise_floor(p_note text, p_floor timestamptz, p_to timestamptz, p_dead bigint, p_took interval) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  -- A transaction that began before may commit a lane with an earlier time; what takes longer is found by the next full look.
  c_slack constant interval := interval '200 milliseconds';
  c_full_look constant interval := interval '1 second';
  -- However long a look took, as on a machine that slept in it.
  c_longest constant interval := interval '30 seconds';
  v_note text[] := nullif(current_setting(p_note, true), '')::text[];
BEGIN
  -- A full look once a second, or more seldom where that takes long: a twentieth of the time at most, where it takes no 1.5 s.
  IF p_floor = '-infinity' THEN
    v_note := ARRAY[(clock_timestamp() + least(c_longest, greatest(c_full_look, 20 * p_took)))::text, '', p_dead::text];
  END IF;
  v_note[2] := greatest(p_floor, p_to - c_slack)::text;
  PERFORM set_config(p_note, v_note::text, false);
END $$;
--> statement-breakpoint

-- Locks the lanes that a list of leases names, in order. Of a lane's entries the newest is looked at first.
CREATE OR REPLACE FUNCTION delivery_lock_lanes(p_leases json) RETURNS void
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
BEGIN
  PERFORM FROM (SELECT DISTINCT g.lane, g.version FROM json_to_recordset(p_leases) AS g(lane text, version smallint) ORDER BY g.lane, g.version) g
  CROSS JOIN LATERAL (
    SELECT FROM delivery_lane l WHERE l.lane = g.lane AND l.version = g.version ORDER BY l.moves DESC LIMIT 1 FOR UPDATE
  ) k;
END $$;
--> statement-breakpoint

-- The lanes of new jobs, in order: each is locked, even when nothing in it changes, then lowered or made. That lock keeps a
-- claim from emptying the lane while this transaction is open (docs/decisions/0032). It learns whose it is and where it leads.
CREATE FUNCTION delivery_touch_lanes(
  p_lanes text[], p_versions smallint[], p_kinds text[], p_run_ats timestamptz[], p_owners bigint[], p_hosts text[]
) RETURNS void
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  v_places tid[];
  v_made integer;
BEGIN
  v_places := ARRAY(
    SELECT k.place FROM unnest(p_lanes, p_versions) AS g(lane, version)
    LEFT JOIN LATERAL (
      SELECT l.ctid AS place FROM delivery_lane l WHERE l.lane = g.lane AND l.version = g.version ORDER BY l.moves DESC LIMIT 1 FOR UPDATE
    ) k ON true
  );
  UPDATE delivery_lane d
  SET next_at = least(d.next_at, g.run_at), mark = least(d.mark, g.run_at), moves = d.moves + 1,
    owner_id = coalesce(g.owner_id, d.owner_id), host = coalesce(g.host, d.host)
  FROM unnest(v_places, p_run_ats, p_owners, p_hosts) AS g(place, run_at, owner_id, host)
  WHERE d.ctid = g.place
    AND (g.run_at < d.next_at OR g.run_at < d.mark OR g.owner_id <> coalesce(d.owner_id, 0) OR g.host <> coalesce(d.host, ''));
  IF array_position(v_places, NULL) IS NOT NULL THEN
    INSERT INTO delivery_lane (lane, version, kind, next_at, mark, owner_id, host)
    SELECT g.lane, g.version, g.kind, g.run_at, g.run_at, g.owner_id, g.host
    FROM unnest(v_places, p_lanes, p_versions, p_kinds, p_run_ats, p_owners, p_hosts) AS g(place, lane, version, kind, run_at, owner_id, host)
    WHERE g.place IS NULL;
    GET DIAGNOSTICS v_made = ROW_COUNT;
    IF v_made < cardinality(array_positions(v_places, NULL)) THEN
      RAISE unique_violation USING CONSTRAINT = 'delivery_lane_key_pkey', MESSAGE = 'Other transactions made the same lanes, time and again';
    END IF;
  END IF;
END $$;
--> statement-breakpoint

-- Inserts jobs whose key is new, then touches their lanes, last in the transaction and in order.
-- Keys that exist are looked for, not met: ON CONFLICT writes 48 bytes of WAL more for every row
-- (measured, speculative insertion), for a race that hardly ever happens. Where it does, the insert
-- starts again, and its new snapshot sees the other's key (or lane). A scalar subquery, and no sequential scan:
-- a plan that was cached while the table was small would otherwise read all of it for each call.
CREATE OR REPLACE FUNCTION delivery_enqueue(p_jobs json) RETURNS integer
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_inserted integer;
  v_constraint text;
  v_tries integer := 0;
  v_lanes text[];
  v_versions smallint[];
  v_kinds text[];
  v_run_ats timestamptz[];
  v_owners bigint[];
  v_hosts text[];
BEGIN
  IF current_setting('ghost.enqueued', true) = 'yes' THEN
    RAISE EXCEPTION 'delivery_enqueue ran twice in one transaction'
      USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Hand over all jobs of a transaction in one call: two calls could deadlock on keys and lanes.';
  END IF;
  PERFORM set_config('ghost.enqueued', 'yes', true);

  LOOP
    BEGIN
      WITH given AS MATERIALIZED (
        SELECT * FROM json_to_recordset(p_jobs) AS j(
          id uuid, key text, event_id uuid, content_id uuid, kind text, version smallint, lane text, hook_id bigint,
          repository_id bigint, account_id bigint, own jsonb, delay_ms bigint, owner_id bigint, host text
        )
      ), made AS (
        INSERT INTO delivery_job (
          id, idempotency_key, event_id, content_id, kind, version, lane, hook_id, repository_id, account_id,
          own, run_at, expires_at
        )
        SELECT DISTINCT ON (j.key) j.id, j.key, j.event_id, j.content_id, j.kind, j.version, j.lane, j.hook_id,
          j.repository_id, j.account_id, j.own, now() + coalesce(j.delay_ms, 0) * interval '1 millisecond',
          now() + interval '7 days'
        FROM given j
        WHERE (SELECT d.id FROM delivery_job d WHERE d.idempotency_key = j.key) IS NULL
        ORDER BY j.key, j.id
        RETURNING lane, version, kind, run_at
      )
      SELECT coalesce(sum(l.jobs), 0), array_agg(l.lane), array_agg(l.version), array_agg(l.kind), array_agg(l.run_at),
        array_agg(l.owner_id), array_agg(l.host)
      INTO v_inserted, v_lanes, v_versions, v_kinds, v_run_ats, v_owners, v_hosts
      FROM (
        SELECT m.lane, m.version, min(m.kind) AS kind, min(m.run_at) AS run_at, count(*) AS jobs, min(p.owner_id) AS owner_id, min(p.host) AS host
        FROM made m
        LEFT JOIN (SELECT g.lane, min(g.owner_id) AS owner_id, min(g.host) AS host FROM given g WHERE g.owner_id IS NOT NULL OR g.host IS NOT NULL GROUP BY g.lane) p
          ON p.lane = m.lane
        GROUP BY m.lane, m.version ORDER BY m.lane, m.version
      ) l;
      IF v_inserted > 0 THEN
        PERFORM delivery_touch_lanes(v_lanes, v_versions, v_kinds, v_run_ats, v_owners, v_hosts);
      END IF;
      EXIT;
    EXCEPTION WHEN unique_violation THEN
      GET STACKED DIAGNOSTICS v_constraint = CONSTRAINT_NAME;
      v_tries := v_tries + 1;
      IF v_constraint NOT IN ('delivery_job_idempotency_key_unique', 'delivery_lane_key_pkey') OR v_tries = 10 THEN
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

-- Leases up to p_jobs due jobs of one kind and version, at most the free slots of each lane, round robin. Of lanes
-- without a recent success at most p_slow_jobs; of one owner's and of one host's lanes at most what the worker's own
-- count of them (p_held) leaves of p_owner_most and p_host_most. p_alone: the one job whose worker died at each of its
-- last claims; a lane with such a job is skipped otherwise. What its worker died of five times is dead.
CREATE OR REPLACE FUNCTION delivery_claim(
  p_kind text, p_version smallint, p_jobs integer, p_slow_jobs integer, p_alone boolean, p_lanes integer, p_slots integer,
  p_lease_ms integer, p_owner_most integer, p_host_most integer, p_held jsonb
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
    FOREACH v_standing IN ARRAY
      CASE WHEN p_alone THEN ARRAY['suspect'] WHEN p_slow_jobs > 0 THEN ARRAY['proven', 'slow'] ELSE ARRAY['proven'] END
    LOOP
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
      END IF;
      v_places := v_places || v_seen;
    END LOOP;
    IF cardinality(v_places) = 0 THEN
      RETURN;
    END IF;
    -- Many lanes share what is asked for: to look at each as if the others had next to nothing cost a third of a claim of 20 jobs.
    v_window := CASE WHEN p_alone THEN p_jobs ELSE least(p_jobs, 1 + 2 * p_jobs / cardinality(v_places)) END;
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
          d.held_reason IS NOT NULL AS held, coalesce(d.not_before > v_now, false) AS resting
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
          LIMIT least(greatest(l.slots - v.jobs, 0), v_window) + 1
        ) c
      ) w
    ), turns AS MATERIALIZED (
      -- A lane's jobs up to its free slots, in turn; narrow rows, as each share sorts them anew. In each share an
      -- earlier turn comes first, so what is within all of them are a lane's first jobs.
      SELECT l.n, t.turn, l.standing = 'proven' AS proven, l.owner_id, l.host
      FROM look l
      CROSS JOIN LATERAL generate_series(1, least(l.slots - l.jobs, v_window, coalesce(cardinality(l.ids), 0))) AS t(turn)
      WHERE (l.suspects > 0) = p_alone
    ), shared AS MATERIALIZED (
      SELECT t.n, t.turn, t.proven,
        (t.owner_id IS NULL OR row_number() OVER (PARTITION BY t.owner_id ORDER BY t.turn, t.n)
          <= p_owner_most - coalesce((p_held -> 'owners' ->> t.owner_id::text)::integer, 0))
        AND (t.host IS NULL OR row_number() OVER (PARTITION BY t.host ORDER BY t.turn, t.n)
          <= p_host_most - coalesce((p_held -> 'hosts' ->> t.host)::integer, 0)) AS within
      FROM turns t
    ), picked AS MATERIALIZED (
      -- Round robin: every lane's first job before any lane's second.
      SELECT p.n, max(p.turn)::integer AS taken
      FROM (
        SELECT m.n, m.turn, row_number() OVER (ORDER BY m.turn, m.n) AS place
        FROM (
          SELECT s.n, s.turn, s.proven, row_number() OVER (PARTITION BY s.proven ORDER BY s.turn, s.n) AS slow_place
          FROM shared s WHERE s.within
        ) m
        WHERE m.proven OR p_alone OR m.slow_place <= p_slow_jobs
      ) p
      WHERE p.place <= p_jobs
      GROUP BY p.n
    ), given AS MATERIALIZED (
      -- A lane without due jobs keeps its row.
      SELECT l.*, coalesce(p.taken, 0) AS taken,
        coalesce(l.slots - l.jobs > 0 AND (l.suspects > 0) = p_alone AND EXISTS (SELECT FROM shared s WHERE s.n = l.n AND NOT s.within), false) AS capped
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
      -- A lease that ran out: its worker died, or lost it. The try was not charged, but it is shown.
      INSERT INTO delivery_attempt (job_id, lease_no, hook_id, started_at, finished_at, outcome, reason, message, next_run_at)
      SELECT t.id, t.lease_no - 1, t.hook_id, least(d.lease_until, v_now), v_now, 'abandoned', 'lease_expired',
        CASE WHEN t.last_error = 'worker_died' THEN 'The worker that held this job did not report, as each one before; it is not tried again.'
          ELSE 'The worker that held this job did not report; it is tried again.' END,
        CASE WHEN t.status = 'pending' THEN v_now END
      FROM expired d JOIN taken t ON t.id = d.id
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
        next_at = CASE
          WHEN n.held THEN 'infinity'
          WHEN n.resting THEN n.not_before
          WHEN n.suspects > 0 AND NOT p_alone THEN v_now
          WHEN n.jobs + n.taken >= n.slots THEN least(n.first_end, v_lease_end)
          -- Others use up what its owner or host may have: a proven lane's turn comes soon, a slow one's can wait.
          WHEN n.capped THEN clock_timestamp() + CASE WHEN n.standing = 'proven' THEN interval '25 milliseconds' ELSE interval '250 milliseconds' END
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
    -- Content travels once a claim, on the first of its jobs.
    SELECT t.id, t.lane, t.lease_no, t.attempts, t.tries, t.redelivery, t.created_at, t.expires_at, t.event_id, t.hook_id,
      t.repository_id, t.account_id, t.own, t.content_id,
      CASE WHEN row_number() OVER shared = 1 THEN c.body END,
      CASE WHEN row_number() OVER shared = 1 THEN c.parts END,
      v_facts -> t.lane
    FROM taken t JOIN delivery_content c ON c.id = t.content_id
    WHERE t.status = 'pending'
    WINDOW shared AS (PARTITION BY t.content_id ORDER BY t.id)
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
--> statement-breakpoint

-- Writes outcomes under the fence, with what they mean for their lanes: a success proves one and earns it a slot, a
-- time-out takes all but one back; five failures in a row without a success open its breaker, which lets one job at a
-- time probe it, after pauses that double. Returns the jobs whose outcome counted: now, or before if this is a repeat.
DROP FUNCTION delivery_settle(json, text[], smallint[], integer, integer);
--> statement-breakpoint

-- `p_head`: what the request heads of all attempts have in common, half of what a batch had to say before.
CREATE FUNCTION delivery_settle(
  p_settlements json, p_lanes text[], p_versions smallint[], p_count integer, p_slots integer, p_head jsonb DEFAULT '{}'
) RETURNS TABLE (id uuid, lease_no bigint, status text)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  v_now timestamptz := now();
  v_settled integer;
BEGIN
  -- The lanes come apart from the outcomes, which are long to parse.
  PERFORM FROM (SELECT DISTINCT u.lane, u.version FROM unnest(p_lanes, p_versions) AS u(lane, version) ORDER BY u.lane, u.version) g
  CROSS JOIN LATERAL (
    SELECT FROM delivery_lane l WHERE l.lane = g.lane AND l.version = g.version ORDER BY l.moves DESC LIMIT 1 FOR UPDATE
  ) k;

  RETURN QUERY
  WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(p_settlements) AS g(
      id uuid, lease_no bigint, lane text, version smallint, state text, outcome text, reason text, charged boolean,
      delay_ms bigint, hold boolean, rest_ms bigint, fault text, started_at timestamptz, message text, code integer, timings jsonb,
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
        OR (e.successes > 0 AND (d.failures > 0 OR d.standing = 'slow' OR d.earned < coalesce(d.slots, p_slots)
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
  IF v_settled < p_count THEN
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

-- Moves the end of leases that are still current, never to an earlier time; returns the leases still held.
CREATE OR REPLACE FUNCTION delivery_extend(p_leases json, p_lease_ms integer) RETURNS TABLE (id uuid, lease_no bigint)
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
  PERFORM delivery_lock_lanes(p_leases);
  RETURN QUERY
  UPDATE delivery_job j SET lease_until = greatest(j.lease_until, clock_timestamp() + p_lease_ms * interval '1 millisecond')
  FROM json_to_recordset(p_leases) AS g(id uuid, lease_no bigint)
  -- A lease that ended stays ended: its slot may have been given away already.
  WHERE j.id = g.id AND j.lease_no = g.lease_no AND j.lease_until > clock_timestamp()
  RETURNING j.id, g.lease_no;
END $$;
--> statement-breakpoint

-- Holds every version of a lane until someone resumes it; makes the rows when the lane is new.
CREATE OR REPLACE FUNCTION delivery_hold(p_lane text, p_kind text, p_version smallint, p_reason text) RETURNS void
LANGUAGE sql VOLATILE AS $$
  INSERT INTO delivery_lane (lane, version, kind, held_reason, held_at) VALUES (p_lane, p_version, p_kind, p_reason, now());
  UPDATE delivery_lane SET held_reason = p_reason, held_at = now(), next_at = 'infinity' WHERE lane = p_lane;
$$;
--> statement-breakpoint

-- Sets how many sends at once every version of a lane may have (null: the default); makes the row when the lane is new.
-- What is in flight beyond it goes on.
CREATE OR REPLACE FUNCTION delivery_limit(p_lane text, p_kind text, p_version smallint, p_slots smallint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  INSERT INTO delivery_lane (lane, version, kind) VALUES (p_lane, p_version, p_kind);
  UPDATE delivery_lane SET slots = p_slots, "full" = false, next_at = CASE WHEN "full" THEN now() ELSE next_at END WHERE lane = p_lane;
  PERFORM pg_notify('ghost_delivery', '');
END $$;
--> statement-breakpoint

-- Milliseconds (0: now) until a lane of the given kind and version is due: work_ms of those that p_slow lets be claimed,
-- suspect_ms of those that are claimed alone; null when nothing is pending there. p_tidy, for a worker that found no
-- work: a lane whose last job was settled keeps the lease's end as its next_at, and would wake it once more in vain.
CREATE OR REPLACE FUNCTION delivery_next_due(p_kind text, p_version smallint, p_slow boolean, p_tidy boolean)
RETURNS TABLE (work_ms double precision, suspect_ms double precision)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  c_tidied constant integer := 500;
  v_standing text;
  v_places tid[];
  v_due timestamptz;
  v_rest timestamptz;
  -- As in the claim.
  c_dead constant integer := 100;
  c_many constant integer := 2000;
  v_name text;
  v_note text[];
  v_floor timestamptz;
  v_read bigint;
  v_read_before bigint;
BEGIN
  IF p_tidy THEN
    FOREACH v_standing IN ARRAY ARRAY['proven', 'slow', 'suspect'] LOOP
      v_places := ARRAY(
        SELECT l.ctid FROM delivery_lane l
        WHERE l.kind = p_kind AND l.version = p_version AND l.standing = v_standing AND l.next_at > now() AND l.next_at < 'infinity'
        ORDER BY l.next_at LIMIT c_tidied
        FOR UPDATE SKIP LOCKED
      );
      CONTINUE WHEN cardinality(v_places) = 0;
      -- A second statement, for the snapshot must be newer than the lock (as in the claim).
      UPDATE delivery_lane l SET next_at = 'infinity', "full" = false, moves = l.moves + 1
      WHERE l.ctid = ANY (v_places)
        -- A scalar subquery: an anti-join would read a backlog of a million jobs (1.5 s), and hold the lanes meanwhile.
        AND (
          SELECT j.id FROM delivery_job j
          WHERE j.lane = l.lane AND j.version = l.version AND j.status = 'pending' AND j.run_at >= l.mark LIMIT 1
        ) IS NULL;
    END LOOP;
  END IF;
  IF p_kind = 'email' THEN
    v_rest := (SELECT r.paused_until FROM delivery_relay r);
  END IF;
  v_read := pg_stat_get_xact_tuples_returned('delivery_lane_due'::regclass);
  FOREACH v_standing IN ARRAY ARRAY['proven', 'slow', 'suspect'] LOOP
    CONTINUE WHEN v_standing = 'slow' AND NOT p_slow;
    v_name := 'ghost.due_' || p_kind || '_' || p_version || '_' || v_standing;
    v_note := nullif(current_setting(v_name, true), '')::text[];
    v_floor := '-infinity';
    IF v_note IS NOT NULL AND v_note[1]::timestamptz > now() AND v_note[3]::bigint > c_many THEN
      v_floor := v_note[2];
    END IF;
    v_due := (
      SELECT l.next_at FROM delivery_lane l
      WHERE l.kind = p_kind AND l.version = p_version AND l.standing = v_standing AND l.next_at >= v_floor AND l.next_at < 'infinity'
        -- To claim alone a worker empties its hand first: not for a lane whose jobs were cancelled.
        AND (v_standing <> 'suspect' OR (
          SELECT j.id FROM delivery_job j
          WHERE j.lane = l.lane AND j.version = l.version AND j.status = 'pending' AND j.run_at >= l.mark LIMIT 1
        ) IS NOT NULL)
      ORDER BY l.next_at LIMIT 1
    );
    v_read_before := v_read;
    v_read := pg_stat_get_xact_tuples_returned('delivery_lane_due'::regclass);
    IF v_read - v_read_before > c_dead THEN
      PERFORM delivery_raise_floor(v_name, v_floor, least(v_due, now()), v_read - v_read_before, clock_timestamp() - now());
    END IF;
    -- What is below the floor is looked for once the note ends, and so before the worker rests.
    IF v_floor > '-infinity' THEN
      v_due := least(v_due, v_note[1]::timestamptz);
    END IF;
    CONTINUE WHEN v_due IS NULL;
    IF v_standing = 'suspect' THEN
      suspect_ms := delivery_ms_until(greatest(v_due, v_rest));
    ELSE
      work_ms := least(work_ms, delivery_ms_until(greatest(v_due, v_rest)));
    END IF;
  END LOOP;
  RETURN NEXT;
END $$;
--> statement-breakpoint

-- Under an old snapshot no row version is removed: at 70 a claim found no room on the page of its job, and six in ten were not HOT
-- (five index entries each). At 40 a page has room for claim and settle; without a snapshot a claim takes 6 % less CPU for it.
ALTER TABLE delivery_job SET (fillfactor = 40);
