import type { Lease } from '../queue.js';

/** Leases as the SQL verbs take them. */
export function leasesJson(leases: readonly Lease[]): string {
  return JSON.stringify(
    leases.map(({ id, leaseNo, lane, version }) => ({ id, lease_no: leaseNo, lane, version })),
  );
}
