-- What a claim's jobs need to know of their hooks, as it is once they are taken: a row a live secret. VOLATILE,
-- so that its snapshot is newer than the claim's, in whose round trip it is asked. The plan is made once: anew at each use
-- it took longer than the look-up.
CREATE FUNCTION hook_targets(p_hooks bigint[]) RETURNS json
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  RETURN (
    SELECT coalesce(json_agg(
      json_build_array(h.id, h.url, h.active, h.github_signature, h.insecure_ssl, h.headers_ciphertext, s.id, s.ciphertext)
    ), '[]')
    FROM hook h
    LEFT JOIN hook_secret s ON s.hook_id = h.id AND (s.expires_at IS NULL OR s.expires_at > clock_timestamp())
    WHERE h.id = ANY (p_hooks)
  );
END $$;
