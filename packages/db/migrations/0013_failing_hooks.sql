ALTER TABLE "delivery_lane" ADD COLUMN "warned_at" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "delivery_lane_held" ON "delivery_lane" USING btree ("lane") WHERE "delivery_lane"."held_reason" is not null;--> statement-breakpoint

-- Ends a hold: what was kept is due again, and how long the lane has failed counts anew. Returns whether it was held.
CREATE OR REPLACE FUNCTION delivery_resume(p_lane text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  UPDATE delivery_lane
  SET held_reason = NULL, held_at = NULL, not_before = NULL, "full" = false, next_at = now(), failing_since = NULL
  WHERE lane = p_lane AND held_reason IS NOT NULL;
  IF FOUND THEN
    PERFORM pg_notify('ghost_delivery', '');
    RETURN true;
  END IF;
  RETURN false;
END $$;
--> statement-breakpoint

-- Holds every version of a lane until someone resumes it; makes the row when the lane is new. Of a lane that is there the key is
-- left alone: whoever locked the lane before, as for a hook, would wait for one who has the key and waits for the lane.
CREATE OR REPLACE FUNCTION delivery_hold(p_lane text, p_kind text, p_version smallint, p_reason text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM delivery_lane l WHERE l.lane = p_lane AND l.version = p_version) THEN
    INSERT INTO delivery_lane (lane, version, kind, held_reason, held_at) VALUES (p_lane, p_version, p_kind, p_reason, now());
  END IF;
  UPDATE delivery_lane SET held_reason = p_reason, held_at = now(), next_at = 'infinity' WHERE lane = p_lane;
END $$;
