import type { JobKind } from '@ghost/contract';

const BULK_SUFFIX = ':bulk';

/** The lane of a hook: what may hold up only itself. */
export function hookLane(hookId: number): string {
  return `hook:${hookId}`;
}

/** The lane of a recipient's mail domain (lower case); bulk mail has one of its own. */
export function mailLane(address: string, bulk: boolean): string {
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase();
  return `mail:${domain}${bulk ? BULK_SUFFIX : ''}`;
}

/** What a lane's jobs are. */
export function kindOfLane(lane: string): JobKind {
  return lane.startsWith('hook:') ? 'webhook' : 'email';
}
