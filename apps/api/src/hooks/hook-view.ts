import { canonicalFilters, conditionOf, type HookFilter } from '@ghost/contract';
import type { schema } from '@ghost/db';
import { holdOf, oldSecretHint, type SetSecret } from '@ghost/operations';
import type { Settings } from '@ghost/settings';
import * as z from 'zod';

import type { RepositoryAccess } from '../repositories/repository-access.js';
import { repositoryUrl } from '../repositories/repository-urls.js';
import { fullName } from '../repositories/repository-view.js';
import { type LastResponse, lastResponseView } from './last-response.js';

/** GitHub's sign for "there is a secret"; never accepted as one, nor as the value of a header. */
const SECRET_MASK = '********';

const time = z.iso.datetime();
const filterValues = z
  .array(z.union([z.string(), z.number(), z.boolean()]))
  .readonly()
  .optional();

/** What is sent where, and how it is signed. */
export const hookConfigAnswer = z
  .object({
    url: z.string(),
    content_type: z.literal('json'),
    /** `1`: the endpoint's certificate is not verified. */
    insecure_ssl: z.literal(['0', '1']),
    /** The one answer that made a secret shows it; every other shows the mask. */
    secret: z.string(),
    /**
     * Only in the answer that set a secret without `whsec_`: the same secret as Standard Webhooks libraries
     * take it.
     */
    standard_secret: z.string().optional(),
    github_signature: z.boolean(),
    /** Most deliveries in any minute, tries again included; null: no limit. */
    rate_limit: z.int().nullable(),
    /** Custom headers: their names, and the mask for each value. */
    headers: z.record(z.string(), z.string()),
  })
  .meta({ id: 'HookConfig' });
export type HookConfigAnswer = z.infer<typeof hookConfigAnswer>;

/** What must hold of an event's payload: one of the values, by the one operator that is there. */
const hookFilterAnswer = z
  .object({
    field: z.string(),
    is: filterValues,
    is_not: filterValues,
    starts_with: filterValues,
    contains: filterValues,
  })
  .meta({ id: 'HookFilter' });

export const hookAnswer = z
  .object({
    type: z.literal('Repository'),
    id: z.int(),
    name: z.literal('web'),
    active: z.boolean(),
    events: z.array(z.string()),
    filters: z.array(hookFilterAnswer),
    config: hookConfigAnswer,
    created_at: time,
    updated_at: time,
    url: z.string(),
    test_url: z.string(),
    ping_url: z.string(),
    deliveries_url: z.string(),
    last_response: z.object({
      /** The answer's status; null when none came. */
      code: z.int().nullable(),
      /** `unused`, `active`, or why the newest attempt was no delivery. */
      status: z.string(),
      message: z.string().nullable(),
    }),
    /** Why nothing is sent to it until somebody resumes it; null when it is not held. */
    held: z
      .object({
        /** `paused`, `disabled`, `gone`, `secret_unreadable`, `forbidden_address`, `invalid_url` or `operator`. */
        code: z.string(),
        message: z.string(),
        since: time,
        /** Deliveries that wait until it is resumed. */
        kept: z.int(),
        /** When the one that expires first is given up; null when none waits. */
        expires_at: time.nullable(),
        /** It keeps as many as it may: further events are skipped (`held_full`). */
        full: z.boolean(),
      })
      .nullable(),
    /** Of the first failure since the last success; null when none is newer. */
    failing_since: time.nullable(),
    /** Null while it has its first secret. */
    secret_rotation: z
      .object({
        changed_at: time,
        /** Until then the secret before signs, or signed, too. */
        old_secret_until: time,
        /** One sentence, when the receiver seems to verify with the old secret still. */
        hint: z.string().nullable(),
      })
      .nullable(),
  })
  .meta({ id: 'Hook' });
export type HookAnswer = z.infer<typeof hookAnswer>;

export type HookRow = typeof schema.hook.$inferSelect;

/** What the queue knows of a hook's lane; all null when nothing was ever sent or held there. */
export interface HookLane {
  heldReason: string | null;
  heldAt: Date | null;
  lastSuccessAt: Date | null;
  failingSince: Date | null;
}

/** What the lane of a held hook keeps. */
export interface KeptJobs {
  jobs: number;
  oldestExpiresAt: Date | null;
}

/** What an answer needs of the settings. */
export type HookViewSettings = Pick<Settings, 'publicUrl' | 'heldMost'>;

/** A hook for who changes it: all that two edits compete for. */
export interface LockedHook {
  access: RepositoryAccess;
  hook: HookRow;
  /** The ids of its live secrets' rows: each setting of a secret makes a new one. */
  liveSecrets: string;
}

/** A hook as a route found it. */
export interface FoundHook extends LockedHook {
  /** Null: nothing was tried yet. */
  last: LastResponse | null;
  lane: HookLane;
  /** Nothing where the lane is not held. */
  kept: KeptJobs;
  /** When it was read. */
  at: Date;
}

/** @param set - the secret that this answer set, shown by it alone */
export function hookConfigView(hook: HookRow, set: SetSecret | null = null): HookConfigAnswer {
  return {
    url: hook.url,
    content_type: 'json',
    insecure_ssl: hook.insecureSsl ? '1' : '0',
    secret: set?.generated ?? SECRET_MASK,
    ...(set?.standard == null ? {} : { standard_secret: set.standard }),
    github_signature: hook.githubSignature,
    rate_limit: hook.rateLimit,
    headers: Object.fromEntries(hook.headerNames.map((name) => [name, SECRET_MASK])),
  };
}

/**
 * A hook in an answer, in GitHub's shape.
 * @param set - the secret that this answer set, shown by it alone
 */
export function hookView(
  settings: HookViewSettings,
  found: Omit<FoundHook, 'liveSecrets'>,
  set: SetSecret | null = null,
): HookAnswer {
  return {
    ...settingsView(settings, found, set),
    last_response: lastResponseView(found.last),
    held: heldView(settings, found),
    failing_since: found.lane.failingSince?.toISOString() ?? null,
    secret_rotation: rotationView(found),
  };
}

/** Of {@link hookView} what people set. */
export function settingsView(
  settings: HookViewSettings,
  { access, hook }: Pick<LockedHook, 'access' | 'hook'>,
  set: SetSecret | null = null,
): Omit<HookAnswer, 'last_response' | 'held' | 'failing_since' | 'secret_rotation'> {
  const url = `${repositoryUrl(settings.publicUrl, fullName(access))}/hooks/${hook.id}`;
  return {
    type: 'Repository',
    id: hook.id,
    name: 'web',
    active: hook.active,
    events: hook.events,
    filters: filtersView(hook.filters),
    config: hookConfigView(hook, set),
    created_at: hook.createdAt.toISOString(),
    updated_at: hook.updatedAt.toISOString(),
    url,
    test_url: `${url}/tests`,
    ping_url: `${url}/pings`,
    deliveries_url: `${url}/deliveries`,
  };
}

/** Of a filter that a newer version wrote, and this one does not know, the field alone. */
function filtersView(filters: readonly HookFilter[]): HookAnswer['filters'] {
  return canonicalFilters(filters).map((filter) =>
    conditionOf(filter) === null ? { field: filter.field } : filter,
  );
}

function heldView(
  { heldMost }: HookViewSettings,
  { lane, kept }: Pick<FoundHook, 'lane' | 'kept'>,
): HookAnswer['held'] {
  const hold = holdOf(lane.heldReason, lane.heldAt);
  if (hold === null) return null;
  return {
    ...hold,
    since: hold.since.toISOString(),
    kept: kept.jobs,
    expires_at: kept.oldestExpiresAt?.toISOString() ?? null,
    full: kept.jobs >= heldMost,
  };
}

function rotationView({
  hook,
  last,
  lane: { lastSuccessAt },
  at,
}: Omit<FoundHook, 'liveSecrets'>): HookAnswer['secret_rotation'] {
  const { secretChangedAt, oldSecretUntil } = hook;
  if (secretChangedAt === null || oldSecretUntil === null) return null;
  return {
    changed_at: secretChangedAt.toISOString(),
    old_secret_until: oldSecretUntil.toISOString(),
    hint: oldSecretHint({ ...hook, lastSuccessAt, last }, at),
  };
}
