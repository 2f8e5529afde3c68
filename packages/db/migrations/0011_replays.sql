CREATE TABLE "hook_replay_target" (
	"replay_id" bigint NOT NULL,
	"seq" integer NOT NULL,
	"job_id" uuid NOT NULL,
	"lease_no" bigint NOT NULL,
	CONSTRAINT "hook_replay_target_pkey" PRIMARY KEY("replay_id","seq")
);
--> statement-breakpoint
CREATE TABLE "hook_replay" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "hook_replay_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"hook_id" bigint,
	"which" text NOT NULL,
	"since" timestamp with time zone NOT NULL,
	"until" timestamp with time zone NOT NULL,
	"account_id" bigint,
	"account" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"total" integer NOT NULL,
	"reached" integer DEFAULT 0 NOT NULL,
	"low" integer DEFAULT 1 NOT NULL,
	"delivered" integer DEFAULT 0 NOT NULL,
	"dead" integer DEFAULT 0 NOT NULL,
	"cancelled" integer DEFAULT 0 NOT NULL,
	"skipped" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"ahead" integer NOT NULL,
	"pause_ms" integer DEFAULT 0 NOT NULL,
	"next_at" timestamp with time zone DEFAULT now() NOT NULL,
	"handed_at" timestamp with time zone,
	"cancelled_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	CONSTRAINT "hook_replay_which_known" CHECK ("hook_replay"."which" in ('failed', 'undelivered', 'all')),
	CONSTRAINT "hook_replay_until_after_since" CHECK ("hook_replay"."until" > "hook_replay"."since"),
	CONSTRAINT "hook_replay_reached_within" CHECK ("hook_replay"."reached" between 0 and "hook_replay"."total"),
	CONSTRAINT "hook_replay_counts_within" CHECK (least("hook_replay"."delivered", "hook_replay"."dead", "hook_replay"."cancelled") >= 0 and "hook_replay"."delivered" + "hook_replay"."dead" + "hook_replay"."cancelled" <= "hook_replay"."reached"),
	CONSTRAINT "hook_replay_handed_when_over" CHECK ("hook_replay"."handed_at" is not null or ("hook_replay"."cancelled_at" is null and "hook_replay"."ended_at" is null)),
	CONSTRAINT "hook_replay_handed_iff_through" CHECK ("hook_replay"."cancelled_at" is not null or ("hook_replay"."handed_at" is not null) = ("hook_replay"."reached" = "hook_replay"."total"))
);
--> statement-breakpoint
ALTER TABLE "hook_replay" ADD CONSTRAINT "hook_replay_hook_id_hook_id_fk" FOREIGN KEY ("hook_id") REFERENCES "public"."hook"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "hook_replay_hook" ON "hook_replay" USING btree ("hook_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "hook_replay_one_a_hook" ON "hook_replay" USING btree ("hook_id") WHERE "hook_replay"."handed_at" is null;--> statement-breakpoint
CREATE INDEX "hook_replay_open" ON "hook_replay" USING btree ("id") WHERE "hook_replay"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "delivery_job_hook_failed" ON "delivery_job" USING btree ("hook_id","finished_at") WHERE "delivery_job"."hook_id" is not null and "delivery_job"."status" in ('dead', 'cancelled');
--> statement-breakpoint
-- Replays in bulk. See docs/decisions/0043.

-- The deliveries of a hook that have one of the statuses, ended in [p_since, p_until) and are kept. `refused`: why one is not
-- sent again. Those that failed have an index of their own; those that were delivered are found by the attempt that did it,
-- which is of the same moment.
CREATE FUNCTION hook_replay_set(p_hook bigint, p_since timestamptz, p_until timestamptz, p_statuses text[])
RETURNS TABLE (job_id uuid, lease_no bigint, status text, event text, refused text)
LANGUAGE sql STABLE AS $$
  SELECT f.id, f.lease_no, f.status, f.own ->> 'event', CASE WHEN e.id IS NOT NULL AND c.id IS NULL THEN 'comment_deleted' END
  FROM (
    SELECT j.id, j.lease_no, j.status, j.own, j.event_id FROM delivery_job j
    WHERE j.hook_id = p_hook AND j.status IN ('dead', 'cancelled') AND j.finished_at >= p_since AND j.finished_at < p_until
      AND j.status = ANY (p_statuses)
    UNION ALL
    SELECT j.id, j.lease_no, j.status, j.own, j.event_id
    FROM delivery_attempt a JOIN delivery_job j ON j.id = a.job_id AND j.finished_at = a.finished_at
    WHERE 'delivered' = ANY (p_statuses) AND j.status = 'delivered' AND a.hook_id = p_hook AND a.outcome = 'delivered'
      AND a.finished_at >= p_since AND a.finished_at < p_until
  ) f
  -- The text of a deleted comment goes to nobody.
  LEFT JOIN outbox_event e ON e.id = f.event_id AND e.comment_id IS NOT NULL AND e.type IN ('comment.created', 'comment.edited')
  LEFT JOIN comment c ON c.id = e.comment_id
$$;
--> statement-breakpoint

-- What became of the targets that a replay made pending and did not count yet. `lost`: pruned since they ended.
CREATE FUNCTION hook_replay_in_hand(p_replay bigint, p_low integer, p_reached integer)
RETURNS TABLE (pending integer, delivered integer, dead integer, cancelled integer, lost integer)
LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
  SELECT count(*) FILTER (WHERE j.status = 'pending')::integer, count(*) FILTER (WHERE j.status = 'delivered')::integer,
    count(*) FILTER (WHERE j.status = 'dead')::integer, count(*) FILTER (WHERE j.status = 'cancelled')::integer,
    count(*) FILTER (WHERE j.id IS NULL)::integer
  FROM hook_replay_target t LEFT JOIN delivery_job j ON j.id = t.job_id
  WHERE t.replay_id = p_replay AND t.seq BETWEEN p_low AND p_reached
$$;
--> statement-breakpoint

-- Takes the targets that ended away from those in hand, and says how many of each kind they were, for the replay's row, which its
-- caller holds. `low`: the first that is pending still.
CREATE FUNCTION hook_replay_count(p_replay bigint, p_low integer, p_reached integer)
RETURNS TABLE (delivered integer, dead integer, cancelled integer, lost integer, pending integer, untried integer, low integer)
LANGUAGE sql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
  WITH hand AS MATERIALIZED (
    SELECT t.seq, j.status, j.attempts FROM hook_replay_target t LEFT JOIN delivery_job j ON j.id = t.job_id
    WHERE t.replay_id = p_replay AND t.seq BETWEEN p_low AND p_reached
  ), counted AS (
    DELETE FROM hook_replay_target t USING hand h WHERE t.replay_id = p_replay AND t.seq = h.seq AND h.status IS DISTINCT FROM 'pending'
  )
  SELECT count(*) FILTER (WHERE h.status = 'delivered')::integer, count(*) FILTER (WHERE h.status = 'dead')::integer,
    count(*) FILTER (WHERE h.status = 'cancelled')::integer, count(*) FILTER (WHERE h.status IS NULL)::integer,
    count(*) FILTER (WHERE h.status = 'pending')::integer,
    count(*) FILTER (WHERE h.status = 'pending' AND h.attempts = 0)::integer,
    min(h.seq) FILTER (WHERE h.status = 'pending')
  FROM hand h
$$;
--> statement-breakpoint

-- Counts, for every replay of a hook, what ended since its last step: asked before deliveries of the hook are sent again in another
-- way, so that what was counted as ended stays so.
CREATE FUNCTION hook_replay_count_ended(p_hook bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  r record;
BEGIN
  -- The newest first: only that one can be in a step that makes deliveries pending.
  FOR r IN SELECT o.id, o.low, o.reached FROM hook_replay o WHERE o.hook_id = p_hook AND o.ended_at IS NULL ORDER BY o.id DESC FOR NO KEY UPDATE LOOP
    UPDATE hook_replay u
    SET delivered = u.delivered + c.delivered, dead = u.dead + c.dead, cancelled = u.cancelled + c.cancelled,
      low = coalesce(c.low, u.reached + 1),
      skipped = CASE WHEN c.lost = 0 THEN u.skipped
        ELSE u.skipped || jsonb_build_object('pruned', c.lost + coalesce((u.skipped ->> 'pruned')::integer, 0)) END
    FROM hook_replay_count(r.id, r.low, r.reached) c
    WHERE u.id = r.id;
  END LOOP;
END $$;
--> statement-breakpoint

-- One step of a replay, a transaction of its own: counts what ended, makes the next targets pending while fewer than `ahead`
-- wait untried, and says when the next step is due (`next_at`; infinity: at a wake). So what is pending, what is counted and
-- where it stands change together or not at all. No row: it is over, not due, or another runner is at it.
-- Who holds one of its locks for long fails the step (55P03), and other replays go on.
-- Locks, in the order of everybody: repository, hook, replay, comments, lanes, jobs.
CREATE FUNCTION hook_replay_step(
  p_replay bigint, p_woken boolean, p_least_ahead integer, p_most_ahead integer, p_pause_ms integer, p_longest_pause_ms integer
) RETURNS TABLE (hook_id bigint, queued integer, delivered integer, dead integer, cancelled integer, skipped integer, pending integer, ended boolean)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET lock_timeout = '2s'
AS $$
#variable_conflict use_column
DECLARE
  -- Leftovers of a replay that was cancelled go in steps, too.
  c_leftovers constant integer := 10000;
  -- Of a hook with a rate limit so many seconds' worth wait untried: a new event comes behind them.
  c_seconds_ahead constant integer := 10;
  r hook_replay%ROWTYPE;
  v_hook bigint;
  v_repository bigint;
  v_active boolean;
  v_held boolean := false;
  v_hand record;
  v_most integer;
  v_room integer := 0;
  v_seqs integer[];
  v_sendable uuid[];
  v_again uuid[] := '{}';
  v_why jsonb := '{}';
  v_skipped integer := 0;
  v_refused integer;
  v_leftovers integer := 0;
  v_pending integer;
BEGIN
  SELECT h.id, h.repository_id INTO v_hook, v_repository FROM hook_replay o JOIN hook h ON h.id = o.hook_id WHERE o.id = p_replay;
  -- Whoever deletes the repository waits, and so does who deletes or changes the hook.
  PERFORM FROM repository WHERE id = v_repository FOR SHARE;
  SELECT h.active INTO v_active FROM hook h WHERE h.id = v_hook FOR SHARE;
  SELECT o.* INTO r FROM hook_replay o
  WHERE o.id = p_replay AND o.ended_at IS NULL AND (o.next_at <= now() OR (p_woken AND o.next_at = 'infinity'))
  FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF v_active IS NULL AND r.handed_at IS NULL THEN
    r.cancelled_at := now();
    r.handed_at := now();
  END IF;

  SELECT c.* INTO v_hand FROM hook_replay_count(p_replay, r.low, r.reached) c;
  r.low := coalesce(v_hand.low, r.reached + 1);
  IF v_hand.lost > 0 THEN
    v_why := jsonb_build_object('pruned', v_hand.lost);
  END IF;

  IF v_active IS NOT NULL THEN
    v_held := EXISTS (SELECT FROM delivery_lane l WHERE l.lane = 'hook:' || v_hook AND l.held_reason IS NOT NULL);
  END IF;
  IF r.handed_at IS NULL AND v_active AND NOT v_held THEN
    r.ahead := CASE
      WHEN v_hand.untried = 0 THEN least(r.ahead * 2, p_most_ahead)
      WHEN v_hand.untried > r.ahead / 2 THEN greatest(r.ahead / 2, p_least_ahead)
      ELSE r.ahead
    END;
    -- Two at least, so that one waits while the other is sent. Null, and so no bound, for a hook without a limit.
    v_most := (
      SELECT min(greatest(2, c_seconds_ahead * l.per_minute / 60)) FROM delivery_lane l
      WHERE l.lane = 'hook:' || v_hook AND l.per_minute IS NOT NULL
    );
    v_room := greatest(least(r.ahead, v_most) - v_hand.untried, 0);
  END IF;
  IF v_room > 0 THEN
    v_seqs := ARRAY(
      SELECT t.seq FROM hook_replay_target t WHERE t.replay_id = p_replay AND t.seq > r.reached ORDER BY t.seq LIMIT v_room
    );
    -- Who deletes one of these comments waits, and then cancels what is queued here.
    PERFORM FROM comment c WHERE c.id IN (
      SELECT e.comment_id FROM hook_replay_target t JOIN delivery_job j ON j.id = t.job_id JOIN outbox_event e ON e.id = j.event_id
      WHERE t.replay_id = p_replay AND t.seq = ANY (v_seqs) AND e.type IN ('comment.created', 'comment.edited')
    ) ORDER BY c.id FOR KEY SHARE;
    -- What is judged below stays so: whoever sends, settles or cancels jobs of the hook waits.
    PERFORM FROM delivery_lane l WHERE l.lane = 'hook:' || v_hook ORDER BY l.lane, l.version FOR UPDATE;
    WITH judged AS MATERIALIZED (
      SELECT t.job_id, CASE
          WHEN j.id IS NULL THEN 'pruned'
          WHEN j.status = 'pending' THEN 'pending'
          WHEN j.lease_no <> t.lease_no THEN 'sent_meanwhile'
          WHEN e.comment_id IS NOT NULL AND NOT EXISTS (SELECT FROM comment c WHERE c.id = e.comment_id) THEN 'comment_deleted'
        END AS why
      FROM hook_replay_target t LEFT JOIN delivery_job j ON j.id = t.job_id
      LEFT JOIN outbox_event e ON e.id = j.event_id AND e.type IN ('comment.created', 'comment.edited')
      WHERE t.replay_id = p_replay AND t.seq = ANY (v_seqs)
    )
    SELECT coalesce((SELECT array_agg(g.job_id) FROM judged g WHERE g.why IS NULL), '{}'),
      v_why || coalesce((
        SELECT jsonb_object_agg(w.why, w.jobs + coalesce((v_why ->> w.why)::integer, 0))
        FROM (SELECT g.why, count(*) AS jobs FROM judged g WHERE g.why IS NOT NULL GROUP BY g.why) w
      ), '{}')
    INTO v_sendable, v_why;
    v_again := ARRAY(SELECT d FROM delivery_redeliver(v_sendable) d);
    v_refused := cardinality(v_sendable) - cardinality(v_again);
    IF v_refused > 0 THEN
      v_why := v_why || jsonb_build_object('refused', v_refused);
    END IF;
    DELETE FROM hook_replay_target t WHERE t.replay_id = p_replay AND t.seq = ANY (v_seqs) AND t.job_id <> ALL (v_again);
    r.reached := r.reached + cardinality(v_seqs);
    IF r.reached = r.total THEN
      r.handed_at := now();
    END IF;
  END IF;
  IF r.cancelled_at IS NOT NULL THEN
    DELETE FROM hook_replay_target d WHERE d.replay_id = p_replay AND d.seq > r.reached AND d.seq < c_leftovers + (
      SELECT min(t.seq) FROM hook_replay_target t WHERE t.replay_id = p_replay AND t.seq > r.reached
    );
    GET DIAGNOSTICS v_leftovers = ROW_COUNT;
  END IF;

  v_pending := v_hand.pending + cardinality(v_again);
  v_skipped := coalesce((SELECT sum(w.value::integer) FROM jsonb_each_text(v_why) w), 0);
  IF r.handed_at IS NOT NULL AND v_pending = 0 AND v_leftovers < c_leftovers THEN
    r.ended_at := now();
  END IF;
  r.pause_ms := CASE
    WHEN cardinality(v_again) + v_skipped + v_leftovers + v_hand.delivered + v_hand.dead + v_hand.cancelled > 0 THEN p_pause_ms
    ELSE least(greatest(r.pause_ms, 1) * 2, p_longest_pause_ms)
  END;
  UPDATE hook_replay u
  SET reached = r.reached, low = r.low, ahead = r.ahead, pause_ms = r.pause_ms,
    delivered = u.delivered + v_hand.delivered, dead = u.dead + v_hand.dead, cancelled = u.cancelled + v_hand.cancelled,
    skipped = u.skipped || coalesce((
      SELECT jsonb_object_agg(w.key, w.value::integer + coalesce((u.skipped ->> w.key)::integer, 0)) FROM jsonb_each_text(v_why) w
    ), '{}'),
    handed_at = r.handed_at, cancelled_at = r.cancelled_at, ended_at = r.ended_at,
    next_at = CASE
      WHEN r.ended_at IS NOT NULL THEN 'infinity'
      WHEN v_leftovers = c_leftovers THEN now()
      -- What is pending is held with its lane, and nobody ends it: who resumes the hook wakes the replay.
      WHEN v_held THEN 'infinity'
      -- What is pending of an inactive hook is cancelled when it is sent, which is counted before the replay sleeps.
      WHEN r.handed_at IS NULL AND NOT v_active AND v_pending = 0 THEN 'infinity'
      -- A step with many in hand takes long: it is a tenth of the time at most.
      ELSE clock_timestamp() + greatest(r.pause_ms * interval '1 millisecond', 9 * (clock_timestamp() - now()))
    END
  WHERE u.id = p_replay;
  RETURN QUERY SELECT r.hook_id, cardinality(v_again), v_hand.delivered, v_hand.dead, v_hand.cancelled, v_skipped, v_pending,
    r.ended_at IS NOT NULL;
END $$;
