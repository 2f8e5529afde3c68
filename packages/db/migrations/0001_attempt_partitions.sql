-- Attempts are kept by day, so that old days are dropped and not deleted row by row.
-- The default partition always exists: no settle fails for want of a partition.
CREATE TABLE delivery_attempt_default PARTITION OF delivery_attempt DEFAULT;
--> statement-breakpoint
-- Makes the partitions of today and the days ahead; idempotent, safe to run at once from many workers.
-- SECURITY DEFINER: a worker needs no right to create tables.
CREATE FUNCTION delivery_attempt_make_days(p_days integer DEFAULT 3) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_day date;
  v_name text;
  v_made integer := 0;
BEGIN
  IF p_days IS NULL OR p_days NOT BETWEEN 0 AND 31 THEN
    RAISE EXCEPTION 'delivery_attempt_make_days takes 0 to 31 days, not %', p_days;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('delivery_attempt_make_days', 0));
  FOR v_day IN SELECT (now() AT TIME ZONE 'UTC')::date + n FROM generate_series(0, p_days) AS n LOOP
    v_name := 'delivery_attempt_' || to_char(v_day, 'YYYYMMDD');
    CONTINUE WHEN to_regclass('public.' || v_name) IS NOT NULL;
    -- A day that already has rows in the default partition stays there: moving them would block settles.
    CONTINUE WHEN EXISTS (
      SELECT FROM delivery_attempt_default
      WHERE finished_at >= v_day::timestamp AT TIME ZONE 'UTC'
        AND finished_at < (v_day + 1)::timestamp AT TIME ZONE 'UTC'
    );
    -- LIKE and ATTACH take a weaker lock on the parent than PARTITION OF.
    EXECUTE format('CREATE TABLE public.%I (LIKE public.delivery_attempt INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', v_name);
    EXECUTE format(
      'ALTER TABLE public.delivery_attempt ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
      v_name, v_day::timestamp AT TIME ZONE 'UTC', (v_day + 1)::timestamp AT TIME ZONE 'UTC'
    );
    v_made := v_made + 1;
  END LOOP;
  RETURN v_made;
END $$;
--> statement-breakpoint
SELECT delivery_attempt_make_days(3);
