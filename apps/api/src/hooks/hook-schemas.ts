import { HOOK_EVENT_TYPES } from '@ghost/contract';
import * as z from 'zod';

import { pageOf } from '../http/page.js';
import { pathNumber, repositoryPath } from '../repositories/repository-path.js';

/** Every type that a hook may ask for, present and future. */
export const ALL_EVENTS = '*';

const MAX_EVENT_NAMES = 100;

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

// `url` and `secret` are judged by the policy afterwards.
const config = z.strictObject({
  url: z.string(),
  content_type: z.literal('json', { error: 'Only "json" is sent; "form" is not.' }).optional(),
  secret: z.string().nullish(),
  insecure_ssl: z
    .literal(['0', 0], { error: 'Certificates are always verified: leave it out, or "0".' })
    .optional(),
  /** Also sign as GitHub does, in `x-hub-signature-256`. */
  github_signature: z.boolean().default(false),
  token: ignored,
  digest: ignored,
});

/** GitHub's form of a new hook. */
export const newHook = z.strictObject({
  name: webName,
  active: z.boolean().default(true),
  events: someEventNames.default([ALL_EVENTS]),
  config,
});
export type NewHook = z.infer<typeof newHook>;

/** GitHub's form of an edit: a `config` that is given replaces all of it but the secret. */
export const hookEdit = z.strictObject({
  name: webName,
  active: z.boolean().optional(),
  events: someEventNames.optional(),
  add_events: eventNames.optional(),
  remove_events: eventNames.optional(),
  config: config.optional(),
});
export type HookEdit = z.infer<typeof hookEdit>;

/** An edit of the config alone: what is left out stays. */
export const hookConfigEdit = config.extend({
  url: config.shape.url.optional(),
  github_signature: z.boolean().optional(),
});
export type HookConfigEdit = z.infer<typeof hookConfigEdit>;

export const hookPath = repositoryPath.extend({ id: pathNumber });
export type HookPath = z.infer<typeof hookPath>;

export const hookPage = pageOf('hooks');
