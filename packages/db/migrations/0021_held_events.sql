DROP FUNCTION outbox_claim(integer, boolean, integer, integer, text[], text[], uuid[], text);
--> statement-breakpoint

-- Closes the events that ended since the claim before and now wait for no consumer. Then leases up to
-- p_rows due rows that nobody holds, oldest first, and charges each a start; by state, never by id,
-- as lower ids may commit later. A row whose lease ran out is a suspect: its process died, and it may
-- have been what killed it. Nothing younger is taken before it, and it is taken alone, where nothing
-- else runs (p_idle). A row that had p_max_attempts starts without progress is set aside.
CREATE FUNCTION outbox_claim(
  p_rows integer, p_idle boolean, p_lease_ms integer, p_max_attempts integer, p_consumers text[], p_known text[],
  p_ended uuid[], p_died text, p_tell boolean DEFAULT false
)
RETURNS TABLE (
  event_id uuid, consumer text, cursor text, attempts smallint, lease_no bigint, set_aside boolean, suspect boolean,
  type text, version smallint, repository_id bigint, payload jsonb, created_at timestamptz
)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
#variable_conflict use_column
BEGIN
  -- Asked after the commit of each consumer's last page, so of two that end at once the later sees both.
  IF cardinality(p_ended) > 0 THEN
    UPDATE outbox_event e SET processed_at = now()
    WHERE e.id = ANY (ARRAY(
        -- Only what ended: of two that end at once the earlier must not keep the later from it.
        SELECT c.id FROM outbox_event c
        -- Written so that the index of all that is unprocessed is no way to these few.
        WHERE c.id = ANY (p_ended) AND coalesce(c.processed_at, 'infinity') = 'infinity'
          AND NOT EXISTS (SELECT FROM outbox_progress o WHERE o.event_id = c.id AND o.done_at IS NULL)
        FOR NO KEY UPDATE SKIP LOCKED
      ));
  END IF;
  -- One that somebody holds is closed another time: to wait for it here would keep every event waiting. Told by a row of nulls.
  IF p_tell AND cardinality(p_ended) > 0 THEN
    RETURN QUERY
    SELECT NULL::uuid, NULL::text, NULL::text, NULL::smallint, NULL::bigint, NULL::boolean, NULL::boolean, NULL::text, NULL::smallint,
      NULL::bigint, NULL::jsonb, NULL::timestamptz
    FROM outbox_event e
    WHERE e.id = ANY (p_ended) AND coalesce(e.processed_at, 'infinity') = 'infinity'
      AND NOT EXISTS (SELECT FROM outbox_progress o WHERE o.event_id = e.id AND o.done_at IS NULL)
    LIMIT 1;
  END IF;
  IF p_rows = 0 THEN
    RETURN;
  END IF;

  -- FOR NO KEY UPDATE, as an open page holds its row so; who inserts what refers to it need not wait.
  RETURN QUERY
  WITH due AS MATERIALIZED (
    SELECT p.event_id, p.consumer, p.run_at, p.lease_until IS NOT NULL AS suspect
    FROM outbox_progress p
    WHERE p.done_at IS NULL AND p.set_aside_at IS NULL AND p.run_at <= now()
      AND (p.lease_until IS NULL OR p.lease_until <= now()) AND p.consumer = ANY (p_consumers)
      -- Types and versions that this process does not know wait for one that does, uncharged.
      AND (SELECT e.type || ':' || e.version FROM outbox_event e WHERE e.id = p.event_id) = ANY (p_known)
    ORDER BY p.run_at, p.event_id
    LIMIT p_rows
    FOR NO KEY UPDATE OF p SKIP LOCKED
  ), placed AS (
    SELECT d.*, row_number() OVER oldest AS place, bool_or(d.suspect) OVER oldest AS from_suspect_on
    FROM due d WINDOW oldest AS (ORDER BY d.run_at, d.event_id, d.consumer)
  ), taken AS (
    UPDATE outbox_progress p
    SET lease_no = p.lease_no + 1,
      attempts = CASE WHEN p.attempts >= p_max_attempts THEN p.attempts ELSE p.attempts + 1 END,
      lease_until = CASE WHEN p.attempts >= p_max_attempts THEN NULL ELSE now() + p_lease_ms * interval '1 millisecond' END,
      set_aside_at = CASE WHEN p.attempts >= p_max_attempts THEN now() END,
      last_error = CASE WHEN p.attempts >= p_max_attempts THEN p_died ELSE p.last_error END
    FROM placed d
    WHERE p.event_id = d.event_id AND p.consumer = d.consumer
      AND CASE WHEN d.suspect AND d.place = 1 THEN p_idle ELSE NOT d.from_suspect_on END
    RETURNING p.event_id, p.consumer, p.cursor, p.attempts, p.lease_no, p.set_aside_at, d.suspect
  )
  SELECT t.event_id, t.consumer, t.cursor, t.attempts, t.lease_no, t.set_aside_at IS NOT NULL, t.suspect,
    e.type, e.version, e.repository_id, e.payload, e.created_at
  FROM taken t JOIN outbox_event e ON e.id = t.event_id;
END $$;
