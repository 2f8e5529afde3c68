import * as z from 'zod';

import { instant } from '../http/instant.js';
import { pageOf } from '../http/page.js';

const AFFILIATIONS = ['owner', 'collaborator', 'organization_member'] as const;
const ALL_AFFILIATIONS = AFFILIATIONS.join(',');

/** Pages follow each other by id, which is the order of creation; no other order can be walked by key. */
const ordered = {
  sort: z
    .literal('created', { error: 'Repositories are listed in the order of their creation only.' })
    .optional()
    .describe('Only "created"'),
  direction: z.enum(['asc', 'desc']).default('asc').describe('Oldest first, or newest first'),
};

const affiliation = z
  .string()
  .transform((text, context) => {
    const named = text.split(',').map((part) => part.trim());
    if (named.every((name) => (AFFILIATIONS as readonly string[]).includes(name))) return named;
    context.addIssue({ code: 'custom', message: `Use any of ${ALL_AFFILIATIONS}.` });
    return z.NEVER;
  })
  .optional()
  .describe(`Comma-separated: ${ALL_AFFILIATIONS} (there are no organizations)`);

/** `GET /user/repos`. As on GitHub, `type` is short for the other two and excludes them. */
export const ownRepositoriesQuery = pageOf('repositories')
  .extend({
    ...ordered,
    visibility: z.enum(['all', 'public', 'private']).optional(),
    affiliation,
    type: z.enum(['all', 'owner', 'public', 'private', 'member']).optional(),
    since: instant.optional().describe('Changed at or after'),
    before: instant.optional().describe('Changed at or before'),
  })
  .refine(
    ({ type, visibility, affiliation: given }) =>
      type === undefined || (visibility === undefined && given === undefined),
    { path: ['type'], error: 'Use "type", or "visibility" and "affiliation".' },
  );
export type OwnRepositoriesQuery = z.infer<typeof ownRepositoriesQuery>;

/** `GET /users/:username/repos`. */
export const repositoriesOfQuery = pageOf('repositories').extend({
  ...ordered,
  type: z.enum(['all', 'owner', 'member']).default('owner'),
});
export type RepositoriesOfQuery = z.infer<typeof repositoriesOfQuery>;

/** `GET /user/subscriptions`. */
export const watchedQuery = pageOf('repositories');
export type WatchedQuery = z.infer<typeof watchedQuery>;

/** Lists of people. */
export const peopleQuery = pageOf('accounts');
export type PeopleQuery = z.infer<typeof peopleQuery>;

/** `GET …/collaborators`. Without organizations "direct" is all there are, and "outside" all but the owner. */
export const collaboratorsQuery = peopleQuery.extend({
  affiliation: z.enum(['all', 'direct', 'outside']).default('all'),
  permission: z
    .enum(['pull', 'push', 'admin'], { error: 'Use pull, push or admin.' })
    .optional()
    .describe('Only who may do so, or more'),
});
export type CollaboratorsQuery = z.infer<typeof collaboratorsQuery>;
