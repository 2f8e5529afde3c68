import { HOOK_EVENT_TYPES } from '@ghost/contract';
import * as z from 'zod';

import { pathNumber, repositoryPath } from '../repositories/repository-path.js';

/** Every type that a hook may ask for, present and future. */
export const ALL_EVENTS = '*';

// Options of GitHub's form that have no meaning here; a client that sends them is not in the wrong.
const MAX_EVENT_NAMES = 100;

const ignored = z.unknown().optional();

const eventName = z.enum([ALL_EVENTS, ...HOOK_EVENT_TYPES], {
  error: `There is no such event. Known are: ${[ALL_EVENTS, ...HOOK_EVENT_TYPES].join(', ')}.`,
});

// Counted before any is judged: 250,000 names in a body of 1 MiB took the event loop 0.6 s.
const events = z
  .array(z.unknown())
  .min(1, 'Name at least one event, or leave the field out for all.')
  .max(MAX_EVENT_NAMES, `Name at most ${MAX_EVENT_NAMES} events, or "*" for all.`)
  .default([ALL_EVENTS])
  .pipe(z.array(eventName))
  .transform((names) => (names.includes(ALL_EVENTS) ? [ALL_EVENTS] : [...new Set(names)]));

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

/** GitHub's form of a new hook; `url` and `secret` are judged by the policy afterwards. */
export const newHook = z.strictObject({
  name: z.literal('web', { error: 'The name of every hook is "web".' }).optional(),
  active: z.boolean().default(true),
  events,
  config,
});
export type NewHook = z.infer<typeof newHook>;

export const hookPath = repositoryPath.extend({ id: pathNumber });
export type HookPath = z.infer<typeof hookPath>;
