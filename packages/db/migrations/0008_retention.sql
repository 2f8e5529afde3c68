ALTER TABLE "delivery_job" DROP CONSTRAINT "delivery_job_content_id_delivery_content_id_fk";
--> statement-breakpoint
ALTER TABLE "delivery_job" ADD CONSTRAINT "delivery_job_content_of_event" FOREIGN KEY ("event_id","kind") REFERENCES "public"."delivery_content"("event_id","kind") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
-- Retention: what is older than some days goes in small steps, each a transaction of its own. See docs/decisions/0042.

-- What ended before that time is old: whole days in UTC, so that jobs go no sooner than the day of their attempts.
-- A typing error must not delete everything.
CREATE FUNCTION retention_before(p_days integer) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF p_days IS NULL OR p_days NOT BETWEEN 1 AND 3650 THEN
    RAISE EXCEPTION 'retention takes 1 to 3650 days, not %', p_days;
  END IF;
  RETURN date_trunc('day', now() AT TIME ZONE 'UTC' - p_days * interval '1 day') AT TIME ZONE 'UTC';
END $$;
--> statement-breakpoint

-- No id (uuid v7) that was made before that time is greater.
CREATE FUNCTION retention_first_id(p_at timestamptz) RETURNS uuid
LANGUAGE sql STABLE AS $$
  SELECT (lpad(to_hex(floor(extract(epoch FROM p_at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;
--> statement-breakpoint

-- One step through the events behind p_after, oldest first by id, as an index of their times would cost each event an entry.
-- Of up to p_events events that every consumer ended p_days ago, it deletes up to p_rows jobs that ended p_days ago and up to
-- p_rows skips; an event goes, with its content and its progress, when none of its jobs is left. Pending jobs are not old.
-- It waits for no lock (SKIP LOCKED), so it needs no lane: whoever holds a job or event keeps it for the next run. Old rows are
-- found by indexes whatever the statistics say. `finished`: nothing old is behind `reached`.
CREATE FUNCTION retention_step(p_days integer, p_after uuid, p_events integer, p_rows integer)
RETURNS TABLE (reached uuid, finished boolean, events integer, jobs integer, contents integer, skips integer)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  v_before timestamptz := retention_before(p_days);
  v_first_young uuid := retention_first_id(v_before);
  v_looked uuid[];
  v_old uuid[];
  v_gone uuid[];
BEGIN
  -- A step that a crash undoes is done again: nobody waits for its write to the disk.
  PERFORM set_config('synchronous_commit', 'off', true);
  v_looked := ARRAY(
    SELECT e.id FROM outbox_event e WHERE e.id > p_after AND e.id < v_first_young ORDER BY e.id LIMIT p_events
  );
  v_old := ARRAY(
    SELECT e.id FROM outbox_event e
    WHERE e.id = ANY (v_looked) AND e.created_at < v_before AND e.processed_at < v_before
      -- What a consumer may still fan out keeps its keys, whatever processed_at says.
      AND (SELECT p.event_id FROM outbox_progress p WHERE p.event_id = e.id AND p.done_at IS NULL LIMIT 1) IS NULL
  );
  DELETE FROM delivery_job d WHERE d.ctid = ANY (ARRAY(
    SELECT j.ctid FROM delivery_job j WHERE j.event_id = ANY (v_old) AND j.finished_at < v_before LIMIT p_rows FOR UPDATE SKIP LOCKED
  ));
  GET DIAGNOSTICS jobs = ROW_COUNT;
  DELETE FROM fanout_skip d WHERE d.ctid = ANY (ARRAY(
    SELECT s.ctid FROM fanout_skip s WHERE s.event_id = ANY (v_old) LIMIT p_rows FOR UPDATE SKIP LOCKED
  ));
  GET DIAGNOSTICS skips = ROW_COUNT;
  v_gone := ARRAY(
    SELECT e.id FROM outbox_event e
    WHERE e.id = ANY (v_old)
      AND (SELECT j.id FROM delivery_job j WHERE j.event_id = e.id LIMIT 1) IS NULL
      AND (SELECT s.event_id FROM fanout_skip s WHERE s.event_id = e.id LIMIT 1) IS NULL
    FOR UPDATE OF e SKIP LOCKED
  );
  DELETE FROM delivery_content c WHERE c.event_id = ANY (v_gone);
  GET DIAGNOSTICS contents = ROW_COUNT;
  DELETE FROM outbox_event e WHERE e.id = ANY (v_gone);
  GET DIAGNOSTICS events = ROW_COUNT;
  -- Where a bound cut it off the same events are looked at again: those that went are no more among them.
  IF jobs < p_rows AND skips < p_rows THEN
    reached := coalesce(v_looked[cardinality(v_looked)], p_after);
    finished := cardinality(v_looked) < p_events;
  ELSE
    reached := p_after;
    finished := false;
  END IF;
  RETURN NEXT;
END $$;
--> statement-breakpoint

-- One step through attempts that are in no day's partition. Their ids are in the order of their times, but for some seconds:
-- where none of p_rows is old, none behind is.
-- SECURITY DEFINER: rights on delivery_attempt do not reach to its partitions when they are named.
CREATE FUNCTION retention_step_attempts(p_days integer, p_after bigint, p_rows integer)
RETURNS TABLE (reached bigint, finished boolean, attempts integer)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  v_before timestamptz := retention_before(p_days);
  v_ids bigint[];
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  v_ids := ARRAY(SELECT a.id FROM delivery_attempt_default a WHERE a.id > p_after ORDER BY a.id LIMIT p_rows);
  DELETE FROM delivery_attempt_default a WHERE a.id = ANY (v_ids) AND a.finished_at < v_before;
  GET DIAGNOSTICS attempts = ROW_COUNT;
  reached := coalesce(v_ids[cardinality(v_ids)], p_after);
  finished := attempts = 0 OR cardinality(v_ids) < p_rows;
  RETURN NEXT;
END $$;
--> statement-breakpoint

-- The days of attempts that ended p_days ago, oldest first.
CREATE FUNCTION retention_days(p_days integer) RETURNS TABLE (partition text, day date)
LANGUAGE sql STABLE AS $$
  SELECT c.relname::text, to_date(right(c.relname, 8), 'YYYYMMDD')
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'public.delivery_attempt'::regclass
    -- Of the default partition the name is no date.
    AND CASE WHEN c.relname ~ '^delivery_attempt_[0-9]{8}$'
      THEN (to_date(right(c.relname, 8), 'YYYYMMDD') + 1)::timestamp AT TIME ZONE 'UTC' <= retention_before(p_days) END
  ORDER BY c.relname
$$;
--> statement-breakpoint

-- Drops the oldest day of attempts that ended p_days ago, and returns it; null when there is none. Its lock on delivery_attempt
-- stands before every settle that comes: where somebody reads old attempts for longer than lock_timeout it fails (55P03), for
-- another time. The files go after the commit, when no lock is held any more.
-- SECURITY DEFINER: who prunes needs not own the tables.
CREATE FUNCTION retention_drop_day(p_days integer) RETURNS date
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '100ms'
AS $$
DECLARE
  v_partition text;
  v_day date;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT d.partition, d.day INTO v_partition, v_day FROM retention_days(p_days) d LIMIT 1;
  IF v_partition IS NOT NULL THEN
    EXECUTE format('DROP TABLE public.%I', v_partition);
  END IF;
  RETURN v_day;
END $$;
--> statement-breakpoint

-- They reach what their caller may not: only who is named may call them.
REVOKE ALL ON FUNCTION retention_step_attempts(integer, bigint, integer), retention_drop_day(integer) FROM PUBLIC;
