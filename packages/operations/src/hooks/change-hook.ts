import { canonicalFilters, type HookFilter } from '@ghost/contract';
import type { Transaction } from '@ghost/db';
import { hookLane, type Queue, type Sql, sqlOf } from '@ghost/queue';
import type { KeyRing } from '@ghost/vault';

import { type AccessChange, type AuditActor, recordAccessChange } from '../audit.js';
import { refuseFutileFilters } from './futile-filters.js';
import type { KeptChoice, Resumed } from './hook-hold.js';
import { changedHeaders, refuseHeadersElsewhere, type StoredHeaders } from './hook-headers.js';
import {
  noteSecretChange,
  type Rotated,
  type Rotation,
  rotateSecret,
  type SetSecret,
  storeOnlySecret,
} from './hook-secrets.js';
import type { HeaderChanges } from './judge-hook.js';
import { wakeReplays } from './replay/wake-replays.js';

/** What an edit of a hook can change, as the audit names it. */
export const HOOK_FIELDS = [
  'url',
  'events',
  'filters',
  'active',
  'github_signature',
  'insecure_ssl',
  'rate_limit',
  'headers',
  'secret',
] as const;
export type HookField = (typeof HOOK_FIELDS)[number];

/** What may end that its endpoint refuses what it is sent. */
const MENDS: ReadonlySet<HookField> = new Set<HookField>([
  'url',
  'active',
  'github_signature',
  'insecure_ssl',
  'headers',
  'secret',
]);

/** What people set of a hook. */
export interface HookSettings extends StoredHeaders {
  url: string;
  events: string[];
  filters: readonly HookFilter[];
  active: boolean;
  githubSignature: boolean;
  insecureSsl: boolean;
  /** Most deliveries in any minute; null: no bound. */
  rateLimit: number | null;
}

/** What is left out stays; everything given was judged (`judgeHook`). */
export interface HookChange {
  url?: string | undefined;
  events?: string[] | undefined;
  /** All of them, in place of those before. */
  filters?: readonly HookFilter[] | undefined;
  active?: boolean | undefined;
  githubSignature?: boolean | undefined;
  insecureSsl?: boolean | undefined;
  rateLimit?: number | null | undefined;
  headers?: HeaderChanges | undefined;
  /** Ends every one before at once. */
  secret?: string | undefined;
}

/** A locked hook, who changes it, and the keys that seal its secrets. */
export interface HookAtHand {
  hook: HookSettings & { id: number };
  repository: NonNullable<AccessChange['repository']>;
  actor: AuditActor;
  ring: KeyRing;
}

export interface ChangedHook {
  /** Empty: nothing differed, and nothing was written. */
  changed: readonly HookField[];
  /** Null when the secret stayed. */
  secret: SetSecret | null;
}

/**
 * Changes what differs of a locked hook, with the audit's line, and nothing when nothing does. A secret
 * that is given is a change even when it is the same: nobody can tell that it is.
 * @throws HookError `headers_unreadable`, `bad_hook` (headers too long in all, or meant for another server), `futile_filters`
 */
export async function changeHook(
  tx: Transaction,
  queue: Queue,
  at: HookAtHand,
  change: HookChange,
): Promise<ChangedHook> {
  const { hook, ring } = at;
  refuseHeadersElsewhere(hook, change.url, change.headers ?? {});
  const headers = changedHeaders(ring, hook.id, hook, change.headers ?? {});
  const after = settingsAfter(hook, change, headers);
  const changed = fieldsChanged(hook, after, headers !== null, change.secret !== undefined);
  if (changed.length === 0) return { changed, secret: null };
  if (changed.includes('events') || changed.includes('filters')) refuseFutileFilters(after);
  const sql = sqlOf(tx);
  await updateHook(sql, hook.id, after);
  if (after.active && !hook.active) await wakeReplays(sql);
  let secret: SetSecret | null = null;
  if (change.secret !== undefined) {
    secret = await storeOnlySecret(sql, ring, hook.id, change.secret);
    await noteSecretChange(sql, hook.id, null);
  }
  // Before what locks the lane: this locks the lane's key first, as everybody does.
  if (changed.includes('rate_limit'))
    await queue.limitRate(sql, hookLane(hook.id), after.rateLimit);
  if (changed.some((field) => MENDS.has(field))) await beginFreshPeriod(sql, hook.id);
  const detail = { changed, before: shownOf(hook), after: shownOf(after) };
  await auditHook(sql, at, 'hook.changed', detail);
  return { changed, secret };
}

/** Gives a locked hook a new secret beside the one before, with the audit's line. */
export async function rotateHookSecret(
  tx: Transaction,
  at: HookAtHand,
  rotation: Rotation,
): Promise<Rotated> {
  const sql = sqlOf(tx);
  const rotated = await rotateSecret(sql, at.ring, at.hook.id, rotation);
  await noteSecretChange(sql, at.hook.id, rotated.oldSecretUntil);
  await beginFreshPeriod(sql, at.hook.id);
  await auditHook(sql, at, 'hook.secret_rotated', {
    generated: rotated.generated !== null,
    old_secret_until: rotated.oldSecretUntil?.toISOString() ?? null,
  });
  return rotated;
}

export async function auditHook(
  sql: Sql,
  {
    hook,
    actor,
    repository,
  }: Pick<AccessChange, 'actor'> & {
    hook: { id: number };
    repository: HookAtHand['repository'];
  },
  action: AccessChange['action'],
  detail: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const line = { action, actor, repository, detail: { hook: hook.id, ...detail } };
  await recordAccessChange(sql, line);
}

/** The line of one step of resuming a hook. */
export async function auditResumed(
  sql: Sql,
  at: Parameters<typeof auditHook>[1],
  { was, discarded, more }: Resumed,
  kept: KeptChoice,
): Promise<void> {
  const detail = { was, ...(kept === 'discard' ? { discarded } : {}) };
  await auditHook(sql, at, more ? 'hook.discarded' : 'hook.resumed', detail);
}

/** What the audit shows of a hook. Of the URL only where it leads: paths and queries often hold a secret. */
export function shownOf({
  events,
  filters,
  active,
  url,
}: Pick<HookSettings, 'events' | 'filters' | 'active' | 'url'>) {
  return {
    events,
    // Their values may be thousands of characters.
    ...(filters.length === 0 ? {} : { filters: filters.map(({ field }) => field) }),
    active,
    origin: new URL(url).origin,
  };
}

function settingsAfter(
  before: HookSettings,
  change: HookChange,
  headers: StoredHeaders | null,
): HookSettings {
  const { headerNames, headersCiphertext } = headers ?? before;
  return {
    url: change.url ?? before.url,
    events: change.events ?? before.events,
    filters: change.filters ?? before.filters,
    active: change.active ?? before.active,
    githubSignature: change.githubSignature ?? before.githubSignature,
    insecureSsl: change.insecureSsl ?? before.insecureSsl,
    rateLimit: change.rateLimit === undefined ? before.rateLimit : change.rateLimit,
    headerNames,
    headersCiphertext,
  };
}

function fieldsChanged(
  before: HookSettings,
  after: HookSettings,
  newHeaders: boolean,
  newSecret: boolean,
): HookField[] {
  const differs: Record<HookField, boolean> = {
    url: before.url !== after.url,
    events: before.events.join() !== after.events.join(),
    filters: textOf(before.filters) !== textOf(after.filters),
    active: before.active !== after.active,
    github_signature: before.githubSignature !== after.githubSignature,
    insecure_ssl: before.insecureSsl !== after.insecureSsl,
    rate_limit: before.rateLimit !== after.rateLimit,
    headers: newHeaders,
    secret: newSecret,
  };
  return HOOK_FIELDS.filter((field) => differs[field]);
}

/** The database keeps the fields of an object in an order of its own. */
function textOf(filters: readonly HookFilter[]): string {
  return JSON.stringify(canonicalFilters(filters));
}

/** Somebody mended it, perhaps: how long it has failed counts anew, or the next fault would disable it. */
async function beginFreshPeriod(sql: Sql, hookId: number): Promise<void> {
  await sql.query(
    'UPDATE delivery_lane SET failing_since = NULL WHERE lane = $1 AND failing_since IS NOT NULL',
    [hookLane(hookId)],
  );
}

async function updateHook(sql: Sql, id: number, after: HookSettings): Promise<void> {
  await sql.query(
    `UPDATE hook SET url = $2, events = $3, active = $4, github_signature = $5, insecure_ssl = $6,
       header_names = $7, headers_ciphertext = $8, rate_limit = $9, filters = $10, updated_at = now()
     WHERE id = $1`,
    [
      id,
      after.url,
      after.events,
      after.active,
      after.githubSignature,
      after.insecureSsl,
      after.headerNames,
      after.headersCiphertext,
      after.rateLimit,
      JSON.stringify(after.filters),
    ],
  );
}
