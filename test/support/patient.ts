/**
 * Of a query that may take minutes: spread into its config. `pg` reads a client-side time-out from the query, though its
 * types do not say so.
 */
export const PATIENT = { query_timeout: 600_000 } as object;
