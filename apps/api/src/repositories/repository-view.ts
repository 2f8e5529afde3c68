import type { Permission } from '@ghost/db';
import * as z from 'zod';

import { nodeId, personAnswer, personView } from '../accounts/person-view.js';
import { includesPermission, type RepositoryAccess } from './repository-access.js';
import { API_URL_FIELDS, type RepositoryUrls, repositoryUrls } from './repository-urls.js';

const url = z.string();
const moment = z.iso.datetime();
// Nothing here is counted or switched on, but GitHub's clients expect the fields.
const zero = z.literal(0);
const off = z.literal(false);

export const permissionsAnswer = z.object({
  admin: z.boolean(),
  maintain: z.boolean(),
  push: z.boolean(),
  triage: z.boolean(),
  pull: z.boolean(),
});

const NEVER_ON = {
  fork: off,
  is_template: off,
  has_issues: off,
  has_projects: off,
  has_wiki: off,
  has_pages: off,
  has_downloads: off,
  has_discussions: off,
  archived: off,
  disabled: off,
};
const NEVER_COUNTED = {
  forks: zero,
  forks_count: zero,
  network_count: zero,
  open_issues: zero,
  open_issues_count: zero,
  size: zero,
  stargazers_count: zero,
  subscribers_count: zero,
  watchers: zero,
  watchers_count: zero,
};
const NEVER_KNOWN = {
  homepage: z.null(),
  language: z.null(),
  license: z.null(),
  mirror_url: z.null(),
};

/** GitHub's "full repository", which is also its "repository" and its "minimal repository". */
export const repositoryAnswer = z
  .object({
    id: z.int(),
    node_id: z.string(),
    name: z.string(),
    full_name: z.string(),
    owner: personAnswer,
    private: z.boolean(),
    visibility: z.enum(['public', 'private']),
    description: z.string().nullable(),
    default_branch: z.string(),
    topics: z.array(z.string()),
    created_at: moment,
    updated_at: moment,
    pushed_at: moment,
    permissions: permissionsAnswer,
    url,
    html_url: url,
    clone_url: url,
    git_url: url,
    ssh_url: url,
    svn_url: url,
    ...everyField(API_URL_FIELDS, url),
    ...NEVER_ON,
    ...NEVER_COUNTED,
    ...NEVER_KNOWN,
  })
  .meta({ id: 'Repository' });
export type RepositoryAnswer = z.infer<typeof repositoryAnswer>;

const NEVER = {
  ...everyField(Object.keys(NEVER_ON) as (keyof typeof NEVER_ON)[], false as const),
  ...everyField(Object.keys(NEVER_COUNTED) as (keyof typeof NEVER_COUNTED)[], 0 as const),
  ...everyField(Object.keys(NEVER_KNOWN) as (keyof typeof NEVER_KNOWN)[], null),
};

/** A repository as the asker sees it. Nothing is pushed here: `pushed_at` is when it was made. */
export function repositoryView(publicUrl: string, access: RepositoryAccess): RepositoryAnswer {
  const { repository, owner, permission } = access;
  const urls: RepositoryUrls = repositoryUrls(publicUrl, fullName(access));
  return {
    id: repository.id,
    node_id: nodeId('Repository', repository.id),
    name: repository.name,
    full_name: fullName(access),
    owner: personView(publicUrl, owner),
    private: repository.private,
    visibility: visibilityOf(repository),
    description: repository.description,
    default_branch: 'main',
    topics: [],
    created_at: repository.createdAt.toISOString(),
    updated_at: repository.updatedAt.toISOString(),
    pushed_at: repository.createdAt.toISOString(),
    permissions: permissionsView(permission),
    ...urls,
    ...NEVER,
  };
}

export function fullName({ repository, owner }: Pick<RepositoryAccess, 'repository' | 'owner'>) {
  return `${owner.login}/${repository.name}`;
}

export function visibilityOf(repository: { private: boolean }): 'public' | 'private' {
  return repository.private ? 'private' : 'public';
}

/** A permission as GitHub's flags: its "triage" comes with push and its "maintain" with admin. */
export function permissionsView(permission: Permission): z.infer<typeof permissionsAnswer> {
  return {
    admin: includesPermission(permission, 'admin'),
    maintain: includesPermission(permission, 'admin'),
    push: includesPermission(permission, 'write'),
    triage: includesPermission(permission, 'write'),
    pull: includesPermission(permission, 'read'),
  };
}

function everyField<K extends string, V>(fields: readonly K[], value: V): Record<K, V> {
  return Object.fromEntries(fields.map((field) => [field, value])) as Record<K, V>;
}
