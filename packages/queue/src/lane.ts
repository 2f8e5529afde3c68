import type { JobKind } from '@ghost/contract';

const BULK_SUFFIX = ':bulk';
/** No host of a URL is called so. */
const BULK_HOST = ':bulk';

/** The lane of a hook: what may hold up only itself. */
export function hookLane(hookId: number): string {
  return `hook:${hookId}`;
}

/** The lane of a recipient's mail domain (lower case); bulk mail has one of its own. */
export function mailLane(address: string, bulk: boolean): string {
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase();
  return `mail:${domain}${bulk ? BULK_SUFFIX : ''}`;
}

/** The host of a lane of bulk mail, for what lanes of one host share; null: the lane has none of its own. */
export function hostOfMailLane(lane: string): string | null {
  return lane.endsWith(BULK_SUFFIX) ? BULK_HOST : null;
}

/** What a lane's jobs are. */
export function kindOfLane(lane: string): JobKind {
  return lane.startsWith('hook:') ? 'webhook' : 'email';
}
