CREATE TABLE "delivery_cancellation" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "delivery_cancellation_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"lane" text,
	"repository_id" bigint,
	"reason" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"after_version" smallint DEFAULT 0 NOT NULL,
	"after_run_at" timestamp with time zone DEFAULT '-infinity' NOT NULL,
	"after_id" uuid DEFAULT '00000000-0000-0000-0000-000000000000' NOT NULL,
	"after_account_id" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "delivery_cancellation_one_target" CHECK (("delivery_cancellation"."lane" is null) <> ("delivery_cancellation"."repository_id" is null))
);
--> statement-breakpoint
CREATE INDEX "delivery_cancellation_repository" ON "delivery_cancellation" USING btree ("repository_id") WHERE "delivery_cancellation"."repository_id" is not null;--> statement-breakpoint
DROP INDEX "delivery_lane_held";--> statement-breakpoint
CREATE INDEX "delivery_lane_held" ON "delivery_lane" USING btree ("lane","version") WHERE "delivery_lane"."held_reason" is not null;
--> statement-breakpoint

-- What was deleted may have a million pending jobs: its deletion commits at once, and they are cancelled behind it, in
-- steps. See docs/decisions/0046.

-- A lane has one row, and now an end: a hook's lane goes with its last pending job (delivery_remove_lane). So what is asked
-- for again needs its lane, as a job without one would never be claimed.

-- A person asks for jobs again: same id, same bytes, a fresh budget. What was cancelled for lost access, an
-- address that is suppressed or verified meanwhile, a deleted comment or repository is final, and so is what has no lane any
-- more, as its hook was deleted. Returns the jobs that are pending again.
CREATE OR REPLACE FUNCTION delivery_redeliver(p_ids uuid[]) RETURNS SETOF uuid
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
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
      AND NOT (j.status = 'cancelled' AND j.last_error IN ('access_lost', 'address_suppressed', 'address_verified', 'comment_deleted', 'repository_deleted'))
      AND (SELECT l.lane FROM delivery_lane l WHERE l.lane = j.lane AND l.version = j.version ORDER BY l.moves DESC LIMIT 1) IS NOT NULL
    RETURNING j.id, j.lane, j.version
  ), moved AS (
    UPDATE delivery_lane d SET next_at = least(d.next_at, now()), mark = least(d.mark, now())
    WHERE (d.lane, d.version) IN (SELECT a.lane, a.version FROM again a)
  )
  SELECT a.id FROM again a;
  PERFORM pg_notify('ghost_delivery', '');
END $$;
--> statement-breakpoint

-- Ends pending jobs whose reason is gone; a worker that holds one loses its fence. Returns how many. A webhook is shown in the
-- history of its hook, where that is there: by an attempt of the lease that nobody got, so no worker's report meets it.
CREATE OR REPLACE FUNCTION delivery_cancel(p_ids uuid[], p_reason text) RETURNS integer
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  v_cancelled integer;
BEGIN
  IF cardinality(p_ids) = 0 THEN
    RETURN 0;
  END IF;
  PERFORM FROM (SELECT DISTINCT j.lane, j.version FROM delivery_job j WHERE j.id = ANY (p_ids) ORDER BY j.lane, j.version) g
  CROSS JOIN LATERAL (
    SELECT FROM delivery_lane l WHERE l.lane = g.lane AND l.version = g.version ORDER BY l.moves DESC LIMIT 1 FOR UPDATE
  ) k;
  WITH ended AS (
    UPDATE delivery_job j
    SET status = 'cancelled', finished_at = now(), lease_until = NULL, lease_no = j.lease_no + 1, last_error = p_reason
    WHERE j.id = ANY (p_ids) AND j.finished_at IS NULL
    RETURNING j.id, j.lease_no, j.hook_id, j.lane, j.version
  ), shown AS (
    INSERT INTO delivery_attempt (job_id, lease_no, hook_id, started_at, finished_at, outcome, reason)
    SELECT e.id, e.lease_no, e.hook_id, now(), now(), 'cancelled', p_reason FROM ended e
    WHERE e.hook_id IS NOT NULL AND (SELECT h.id FROM hook h WHERE h.id = e.hook_id) IS NOT NULL
  ), moved AS (
    -- A full lane may have a free slot now.
    UPDATE delivery_lane d SET "full" = false, next_at = least(d.next_at, now())
    FROM (SELECT DISTINCT e.lane, e.version FROM ended e) g
    CROSS JOIN LATERAL (
      SELECT l.ctid AS place FROM delivery_lane l WHERE l.lane = g.lane AND l.version = g.version ORDER BY l.moves DESC LIMIT 1
    ) f
    WHERE d.ctid = f.place AND d.full
  )
  SELECT count(*) INTO v_cancelled FROM ended;
  RETURN v_cancelled;
END $$;
--> statement-breakpoint

-- Notes that all pending jobs of a lane, or all pending mail of a repository, are to be cancelled, and sees to it that none is
-- sent meanwhile: the lane is held, and whoever sends a mail asks delivery_cancellation before. Costs the same for any number.
-- Nothing may be enqueued there any more.
CREATE FUNCTION delivery_cancel_later(p_lane text, p_repository_id bigint, p_reason text) RETURNS void
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET jit = off AS $$
BEGIN
  IF p_lane IS NOT NULL THEN
    UPDATE delivery_lane SET held_reason = p_reason, held_at = now(), next_at = 'infinity' WHERE lane = p_lane;
  ELSE
    PERFORM FROM delivery_job j
    WHERE j.repository_id = p_repository_id AND j.account_id IS NOT NULL AND j.status = 'pending' LIMIT 1;
  END IF;
  IF FOUND THEN
    INSERT INTO delivery_cancellation (lane, repository_id, reason) VALUES (p_lane, p_repository_id, p_reason);
  END IF;
END $$;
--> statement-breakpoint

-- Removes a lane that has no pending job, with its key; false where somebody holds it just now, or a job is there. The key
-- is locked first, as by whoever makes a lane; nobody is waited for with it. Whoever waits for the lane meanwhile, to enqueue, finds
-- none and makes it anew.
CREATE FUNCTION delivery_remove_lane(p_lane text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_version smallint;
  v_place tid;
BEGIN
  FOR v_version IN SELECT k.version FROM delivery_lane_key k WHERE k.lane = p_lane ORDER BY k.version LOOP
    PERFORM FROM delivery_lane_key k WHERE k.lane = p_lane AND k.version = v_version FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
      RETURN false;
    END IF;
    v_place := (
      SELECT l.ctid FROM delivery_lane l
      WHERE l.lane = p_lane AND l.version = v_version ORDER BY l.moves DESC LIMIT 1 FOR UPDATE SKIP LOCKED
    );
    IF v_place IS NULL AND EXISTS (SELECT FROM delivery_lane l WHERE l.lane = p_lane AND l.version = v_version) THEN
      RETURN false;
    END IF;
    -- A second statement, for the snapshot must be newer than the lock (as in the claim).
    IF (
      SELECT j.id FROM delivery_job j
      WHERE j.lane = p_lane AND j.version = v_version AND j.status = 'pending' LIMIT 1
    ) IS NOT NULL THEN
      RETURN false;
    END IF;
    DELETE FROM delivery_lane l WHERE l.ctid = v_place;
    DELETE FROM delivery_lane_key k WHERE k.lane = p_lane AND k.version = v_version;
  END LOOP;
  RETURN true;
END $$;
--> statement-breakpoint

-- One step: of the first deleted target that has such, it cancels up to p_rows jobs that are in nobody's hand; targets without
-- a pending job end. A webhook that a worker holds is left to it: what comes back is its result, or waits here for the next step. Mail
-- is not, as its worker asks before it sends. `target`: of which it cancelled; `ended`: those of which nothing is pending any more. `wait_ms`: when the next step has something to do, 0 for now, null when nothing is left.
CREATE FUNCTION delivery_cancel_some(p_rows integer)
RETURNS TABLE (cancelled integer, target text, ended text[], wait_ms double precision)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  c_targets constant integer := 100;
  -- A lane that somebody holds just now.
  c_again constant double precision := 50;
  c_start constant uuid := '00000000-0000-0000-0000-000000000000';
  v_note delivery_cancellation;
  v_name text;
  v_ids uuid[];
  v_seen integer;
  v_account bigint;
  v_until timestamptz;
BEGIN
  -- A step that a crash undoes is done again: nobody waits for its write to the disk.
  PERFORM set_config('synchronous_commit', 'off', true);
  cancelled := 0;
  ended := '{}';
  FOR v_note IN SELECT c.* FROM delivery_cancellation c ORDER BY c.id LIMIT c_targets FOR UPDATE SKIP LOCKED LOOP
    v_name := coalesce(v_note.lane, 'repository:' || v_note.repository_id);
    -- Behind what the last step reached, and then once from the beginning.
    LOOP
      IF v_note.lane IS NULL THEN
        SELECT array_agg(s.id ORDER BY s.id), max(s.account_id) INTO v_ids, v_account
        FROM (
          SELECT j.id, j.account_id FROM delivery_job j
          WHERE j.repository_id = v_note.repository_id AND j.account_id >= v_note.after_account_id AND j.account_id IS NOT NULL
            AND j.status = 'pending'
          ORDER BY j.account_id LIMIT p_rows
        ) s;
        IF v_ids IS NOT NULL THEN
          cancelled := delivery_cancel(v_ids, v_note.reason);
          UPDATE delivery_cancellation c SET after_account_id = v_account WHERE c.id = v_note.id;
        END IF;
      ELSE
        -- Locked where there is something to do alone: of two targets a step must not hold the lanes.
        PERFORM FROM delivery_job j
        WHERE j.lane = v_note.lane AND j.status = 'pending' AND (j.lease_until IS NULL OR j.lease_until <= now())
          AND (j.version, j.run_at, j.id) > (v_note.after_version, v_note.after_run_at, v_note.after_id)
        LIMIT 1;
        v_ids := NULL;
        IF FOUND THEN
          PERFORM FROM delivery_lane l WHERE l.lane = v_note.lane ORDER BY l.lane, l.version FOR UPDATE;
          SELECT array_agg(s.id ORDER BY s.version, s.run_at, s.id), count(*) INTO v_ids, v_seen
          FROM (
            SELECT j.id, j.version, j.run_at FROM delivery_job j
            WHERE j.lane = v_note.lane AND j.status = 'pending'
              AND (j.version, j.run_at, j.id) > (v_note.after_version, v_note.after_run_at, v_note.after_id)
            ORDER BY j.version, j.run_at, j.id LIMIT p_rows
          ) s;
          UPDATE delivery_cancellation c
          SET (after_version, after_run_at, after_id) = (SELECT j.version, j.run_at, j.id FROM delivery_job j WHERE j.id = v_ids[v_seen])
          WHERE c.id = v_note.id AND v_seen > 0;
          UPDATE delivery_job j
          SET status = 'cancelled', finished_at = now(), lease_until = NULL, lease_no = j.lease_no + 1, last_error = v_note.reason
          WHERE j.id = ANY (v_ids) AND j.finished_at IS NULL AND (j.lease_until IS NULL OR j.lease_until <= now());
          GET DIAGNOSTICS cancelled = ROW_COUNT;
        END IF;
      END IF;
      IF v_ids IS NOT NULL THEN
        target := v_name;
        wait_ms := 0;
        RETURN NEXT;
        RETURN;
      END IF;
      EXIT WHEN v_note.after_id = c_start AND v_note.after_account_id = 0;
      v_note.after_version := 0;
      v_note.after_run_at := '-infinity';
      v_note.after_id := c_start;
      v_note.after_account_id := 0;
    END LOOP;
    v_until := NULL;
    IF v_note.lane IS NOT NULL THEN
      v_until := (SELECT min(coalesce(j.lease_until, now())) FROM delivery_job j WHERE j.lane = v_note.lane AND j.status = 'pending');
      IF v_until IS NULL AND NOT delivery_remove_lane(v_note.lane) THEN
        v_until := now() + c_again * interval '1 millisecond';
      END IF;
    END IF;
    IF v_until IS NULL THEN
      DELETE FROM delivery_cancellation c WHERE c.id = v_note.id;
      ended := ended || v_name;
    ELSE
      wait_ms := least(wait_ms, delivery_ms_until(v_until));
    END IF;
  END LOOP;
  -- Behind so many targets there may be more.
  IF wait_ms IS NULL AND EXISTS (SELECT FROM delivery_cancellation) THEN
    wait_ms := c_again;
  END IF;
  RETURN NEXT;
END $$;
--> statement-breakpoint

-- One step through the pending jobs of held lanes, behind a place in the order of lanes and of their jobs: of up to p_rows that it looks
-- at it ends those that outlived their time, which no claim does while the lane is held. `finished`: nothing is behind `reached`.
CREATE FUNCTION delivery_expire_held(p_lane text, p_version smallint, p_run_at timestamptz, p_id uuid, p_rows integer)
RETURNS TABLE (reached_lane text, reached_version smallint, reached_run_at timestamptz, reached_id uuid, finished boolean, expired integer)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  c_start constant uuid := '00000000-0000-0000-0000-000000000000';
  v_lane text;
  v_version smallint;
  v_left integer := p_rows;
  v_ids uuid[];
  v_over uuid[];
  v_ended integer;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  reached_lane := p_lane;
  reached_version := p_version;
  reached_run_at := p_run_at;
  reached_id := p_id;
  finished := false;
  expired := 0;
  WHILE v_left > 0 LOOP
    SELECT l.lane, l.version INTO v_lane, v_version FROM delivery_lane l
    WHERE l.held_reason IS NOT NULL AND (l.lane, l.version) >= (reached_lane, reached_version)
    ORDER BY l.lane, l.version LIMIT 1;
    IF NOT FOUND THEN
      finished := true;
      EXIT;
    END IF;
    IF (v_lane, v_version) <> (reached_lane, reached_version) THEN
      reached_run_at := '-infinity';
      reached_id := c_start;
    END IF;
    reached_lane := v_lane;
    reached_version := v_version;
    SELECT array_agg(s.id ORDER BY s.run_at, s.id), array_agg(s.id ORDER BY s.id) FILTER (WHERE s.over) INTO v_ids, v_over
    FROM (
      SELECT j.id, j.run_at, j.expires_at <= now() AND (j.lease_until IS NULL OR j.lease_until <= now()) AS over FROM delivery_job j
      WHERE j.lane = v_lane AND j.version = v_version AND j.status = 'pending'
        AND (j.run_at, j.id) > (reached_run_at, reached_id) AND j.run_at <= now()
      ORDER BY j.run_at, j.id LIMIT v_left
    ) s;
    IF v_over IS NOT NULL THEN
      -- Lanes in their order, then jobs.
      PERFORM FROM delivery_lane l WHERE l.lane = v_lane AND l.version = v_version ORDER BY l.moves DESC LIMIT 1 FOR UPDATE;
      WITH gone AS (
        UPDATE delivery_job j
        SET status = 'dead', finished_at = now(), lease_until = NULL, lease_no = j.lease_no + 1, last_error = 'expired'
        WHERE j.id = ANY (v_over) AND j.finished_at IS NULL AND j.expires_at <= now() AND (j.lease_until IS NULL OR j.lease_until <= now())
        RETURNING j.id, j.lease_no, j.hook_id
      ), shown AS (
        INSERT INTO delivery_attempt (job_id, lease_no, hook_id, started_at, finished_at, outcome, reason, message)
        SELECT g.id, g.lease_no, g.hook_id, now(), now(), 'dead', 'expired', 'It was held until its time was over, and is not sent any more.'
        FROM gone g
      )
      SELECT count(*) INTO v_ended FROM gone;
      expired := expired + v_ended;
    END IF;
    IF cardinality(v_ids) = v_left THEN
      SELECT j.run_at, j.id INTO reached_run_at, reached_id FROM delivery_job j WHERE j.id = v_ids[v_left];
      EXIT;
    END IF;
    -- A lane without jobs is a look too.
    v_left := v_left - coalesce(cardinality(v_ids), 0) - 1;
    reached_version := v_version + 1;
    reached_run_at := '-infinity';
    reached_id := c_start;
  END LOOP;
  RETURN NEXT;
END $$;
--> statement-breakpoint

-- Each attempt of a hook stands in one of two indexes, so that a page of either kind costs the same on every hook. In place of the one of all:
-- a third index would cost each insert 3.8 µs of 17 (measured, CPU of the backend), and 90 bytes of WAL.
DROP INDEX "delivery_attempt_hook";
--> statement-breakpoint
CREATE INDEX "delivery_attempt_hook_delivered" ON "delivery_attempt" USING btree ("hook_id","id") WHERE "delivery_attempt"."hook_id" is not null and "delivery_attempt"."outcome" = 'delivered';
