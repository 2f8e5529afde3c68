import { HOOK_EVENT_TYPES, hookFilters } from '@ghost/contract';
import {
  DEFAULT_OVERLAP_HOURS,
  KEPT_CHOICES,
  MAX_OVERLAP_HOURS,
  MAX_PER_MINUTE,
} from '@ghost/operations';
import * as z from 'zod';

import { pageOf } from '../http/page.js';
import { pathNumber, repositoryPath } from '../repositories/repository-path.js';

/** Every type that a hook may ask for, present and future. */
export const ALL_EVENTS = '*';

const MAX_EVENT_NAMES = 100;
/** More than a hook may have: some are removed by the edit that adds others. */
const MAX_HEADER_CHANGES = 40;

// Options of GitHub's form that have no meaning here; a client that sends them is not in the wrong.
const ignored = z.unknown().optional();

const eventName = z.enum([ALL_EVENTS, ...HOOK_EVENT_TYPES], {
  error: `There is no such event. Known are: ${[ALL_EVENTS, ...HOOK_EVENT_TYPES].join(', ')}.`,
});

// Counted before any is judged: 250,000 names in a body of 1 MiB took the event loop 0.6 s.
const eventNames = z
  .array(z.unknown())
  .max(MAX_EVENT_NAMES, `Name at most ${MAX_EVENT_NAMES} events, or "*" for all.`)
  .pipe(z.array(eventName));
const someEventNames = z
  .array(z.unknown())
  .min(1, 'Name at least one event, or leave the field out.')
  .pipe(eventNames)
  .transform((names) => (names.includes(ALL_EVENTS) ? [ALL_EVENTS] : [...new Set(names)]));

const webName = z.literal('web', { error: 'The name of every hook is "web".' }).optional();

const insecureSsl = z
  .literal(['0', '1', 0, 1], { error: 'It is "0" (certificates are verified) or "1".' })
  .transform((given) => String(given) === '1');

const rateLimit = z
  .int({ error: `It is a whole number from 1 to ${MAX_PER_MINUTE}, or null.` })
  .min(1, 'It is at least 1; null: no limit. To send nothing, pause the hook.')
  .max(MAX_PER_MINUTE, `It is at most ${MAX_PER_MINUTE}; null: no limit.`)
  .nullable();

/** A value sets a header, null removes it; what is not named stays. Counted before any is judged. */
const headerChanges = z
  .record(z.string(), z.unknown())
  .refine(
    (given) => Object.keys(given).length <= MAX_HEADER_CHANGES,
    `Name at most ${MAX_HEADER_CHANGES} headers.`,
  )
  .pipe(z.record(z.string(), z.string().nullable()));

// `url`, `secret` and `headers` are judged by the policy afterwards.
const config = z.strictObject({
  url: z.string(),
  content_type: z.literal('json', { error: 'Only "json" is sent; "form" is not.' }).optional(),
  secret: z.string().nullish(),
  /** "1": the endpoint's certificate is not verified. */
  insecure_ssl: insecureSsl.prefault('0'),
  /** Also sign as GitHub does, in `x-hub-signature-256`. */
  github_signature: z.boolean().default(false),
  /** Most deliveries in any minute, tries again included; null: no limit. */
  rate_limit: rateLimit.default(null),
  /** Custom headers, sent with each delivery. */
  headers: headerChanges.optional(),
  token: ignored,
  digest: ignored,
});

/** GitHub's form of a new hook. */
export const newHook = z.strictObject({
  name: webName,
  active: z.boolean().default(true),
  events: someEventNames.default([ALL_EVENTS]),
  /** What must hold of an event's payload besides: all of them. */
  filters: hookFilters.prefault([]),
  config,
});
export type NewHook = z.infer<typeof newHook>;

/** GitHub's form of an edit: a `config` that is given replaces all of it but the secret and the headers. */
export const hookEdit = z.strictObject({
  name: webName,
  active: z.boolean().optional(),
  events: someEventNames.optional(),
  add_events: eventNames.optional(),
  remove_events: eventNames.optional(),
  /** All of them, in place of those before; none with `[]`. */
  filters: hookFilters.optional(),
  config: config.optional(),
});
export type HookEdit = z.infer<typeof hookEdit>;

/** An edit of the config alone: what is left out stays. */
export const hookConfigEdit = config.extend({
  url: config.shape.url.optional(),
  insecure_ssl: insecureSsl.optional(),
  rate_limit: rateLimit.optional(),
  github_signature: z.boolean().optional(),
});
export type HookConfigEdit = z.infer<typeof hookConfigEdit>;

/** A new secret beside the present one. */
export const secretRotation = z.strictObject({
  /** Left out: one is made, and shown. */
  secret: z.string().nullish(),
  /** How long the present secret signs too; 0: it ends at once. */
  overlap_hours: z.int().min(0).max(MAX_OVERLAP_HOURS).default(DEFAULT_OVERLAP_HOURS),
});
export type SecretRotation = z.infer<typeof secretRotation>;

export const hookPath = repositoryPath.extend({ id: pathNumber });
export type HookPath = z.infer<typeof hookPath>;

export const hookPage = pageOf('hooks');

/** What becomes of what a held hook kept. */
export const hookResumption = z.strictObject({ held: z.enum(KEPT_CHOICES).default('send') });
export type HookResumption = z.infer<typeof hookResumption>;
