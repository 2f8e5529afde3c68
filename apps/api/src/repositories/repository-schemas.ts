import * as z from 'zod';

import { personText } from '../http/person-text.js';
import type { Permission } from './permission.js';

const MAX_DESCRIPTION_CHARACTERS = 350;
const NAME_FORM = /^[A-Za-z0-9._-]{1,100}$/u;

const repositoryName = z
  .string()
  .regex(NAME_FORM, 'Use 1 to 100 letters, digits, dots, dashes and underscores.')
  .refine((name) => name !== '.' && name !== '..' && !/\.git$/iu.test(name), {
    error: 'The name must not be "." or "..", nor end with ".git".',
  });

// Options of GitHub's form that have no meaning here; a client that sends them is not in the wrong.
const ignored = z.unknown().optional();

export const newRepository = z.strictObject({
  name: repositoryName,
  private: z.boolean().default(false),
  description: personText(MAX_DESCRIPTION_CHARACTERS).nullish(),
  homepage: ignored,
  has_issues: ignored,
  has_projects: ignored,
  has_wiki: ignored,
  has_discussions: ignored,
  has_downloads: ignored,
  is_template: ignored,
  team_id: ignored,
  auto_init: ignored,
  gitignore_template: ignored,
  license_template: ignored,
  allow_squash_merge: ignored,
  allow_merge_commit: ignored,
  allow_rebase_merge: ignored,
  allow_auto_merge: ignored,
  delete_branch_on_merge: ignored,
  squash_merge_commit_title: ignored,
  squash_merge_commit_message: ignored,
  merge_commit_title: ignored,
  merge_commit_message: ignored,
});
export type NewRepository = z.infer<typeof newRepository>;

const PERMISSION_OF_NAME = {
  pull: 'read',
  push: 'write',
  read: 'read',
  write: 'write',
  admin: 'admin',
} as const satisfies Record<string, Permission>;

/** GitHub's default for a collaborator is `push`. */
export const newCollaborator = z.strictObject({
  permission: z
    .enum(['pull', 'push', 'read', 'write', 'admin'], {
      error: 'Use pull, push or admin (or read, write, admin).',
    })
    .default('push')
    .transform((name) => PERMISSION_OF_NAME[name]),
});
export type NewCollaborator = z.infer<typeof newCollaborator>;

/** Nothing given means: watch. */
export const newSubscription = z
  .strictObject({ subscribed: z.boolean().optional(), ignored: z.boolean().default(false) })
  .transform(({ subscribed, ignored }) => ({ subscribed: subscribed ?? !ignored, ignored }))
  .refine(({ subscribed, ignored }) => !(subscribed && ignored), {
    path: ['ignored'],
    error: 'A repository is either watched or ignored.',
  });
export type NewSubscription = z.infer<typeof newSubscription>;
