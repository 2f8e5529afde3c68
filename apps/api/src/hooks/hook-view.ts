import type { schema } from '@ghost/db';
import * as z from 'zod';

import type { RepositoryAccess } from '../repositories/repository-access.js';
import { repositoryUrl } from '../repositories/repository-urls.js';
import { fullName } from '../repositories/repository-view.js';
import { type LastResponse, lastResponseView } from './last-response.js';

/** GitHub's sign for "there is a secret"; never accepted as one. */
const SECRET_MASK = '********';

const time = z.iso.datetime();

/** What is sent where, and how it is signed. */
export const hookConfigAnswer = z
  .object({
    url: z.string(),
    content_type: z.literal('json'),
    insecure_ssl: z.literal('0'),
    /** The one answer that made a secret shows it; every other shows the mask. */
    secret: z.string(),
    github_signature: z.boolean(),
  })
  .meta({ id: 'HookConfig' });
export type HookConfigAnswer = z.infer<typeof hookConfigAnswer>;

export const hookAnswer = z
  .object({
    type: z.literal('Repository'),
    id: z.int(),
    name: z.literal('web'),
    active: z.boolean(),
    events: z.array(z.string()),
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
  })
  .meta({ id: 'Hook' });
export type HookAnswer = z.infer<typeof hookAnswer>;

export type HookRow = typeof schema.hook.$inferSelect;

/** A hook as a route found it. */
export interface FoundHook {
  access: RepositoryAccess;
  hook: HookRow;
  /** Null: nothing was tried yet. */
  last: LastResponse | null;
  /** The ids of its live secrets' rows: each setting of a secret makes a new one. */
  liveSecrets: string;
}

export function hookConfigView(hook: HookRow, secret: string = SECRET_MASK): HookConfigAnswer {
  return {
    url: hook.url,
    content_type: 'json',
    insecure_ssl: '0',
    secret,
    github_signature: hook.githubSignature,
  };
}

/** A hook in an answer, in GitHub's shape. */
export function hookView(
  publicUrl: string,
  { access, hook, last }: Omit<FoundHook, 'liveSecrets'>,
  secret?: string,
): HookAnswer {
  const url = `${repositoryUrl(publicUrl, fullName(access))}/hooks/${hook.id}`;
  return {
    type: 'Repository',
    id: hook.id,
    name: 'web',
    active: hook.active,
    events: hook.events,
    config: hookConfigView(hook, secret),
    created_at: hook.createdAt.toISOString(),
    updated_at: hook.updatedAt.toISOString(),
    url,
    test_url: `${url}/tests`,
    ping_url: `${url}/pings`,
    deliveries_url: `${url}/deliveries`,
    last_response: lastResponseView(last),
  };
}
