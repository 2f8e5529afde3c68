import * as z from 'zod';

import { personText } from '../http/person-text.js';

const MAX_DESCRIPTION_CHARACTERS = 350;
const NAME_FORM = /^[A-Za-z0-9._-]{1,100}$/u;

const repositoryName = z
  .string()
  .regex(NAME_FORM, 'Use 1 to 100 letters, digits, dots, dashes and underscores.')
  .refine((name) => name !== '.' && name !== '..' && !/\.git$/iu.test(name), {
    error: 'The name must not be "." or "..", nor end with ".git".',
  });

// Options of GitHub's forms that have no meaning here; a client that sends them is not in the wrong.
const ignored = z.unknown().optional();
const IGNORED = {
  homepage: ignored,
  has_issues: ignored,
  has_projects: ignored,
  has_wiki: ignored,
  has_discussions: ignored,
  has_downloads: ignored,
  is_template: ignored,
  allow_squash_merge: ignored,
  allow_merge_commit: ignored,
  allow_rebase_merge: ignored,
  allow_auto_merge: ignored,
  delete_branch_on_merge: ignored,
  squash_merge_commit_title: ignored,
  squash_merge_commit_message: ignored,
  merge_commit_title: ignored,
  merge_commit_message: ignored,
};

const visibility = {
  private: z.boolean().optional(),
  visibility: z.enum(['public', 'private']).optional(),
};
type Visibility = z.infer<z.ZodObject<typeof visibility>>;

const CONTRADICTION = {
  path: ['visibility'],
  error: '"visibility" and "private" contradict each other: one of them is enough.',
};
const agree = ({ private: hidden, visibility: seen }: Visibility) =>
  hidden === undefined || seen === undefined || hidden === (seen === 'private');
const wantsPrivate = ({ private: hidden, visibility: seen }: Visibility) =>
  hidden ?? (seen === undefined ? undefined : seen === 'private');

/** Private by default: nothing is public by oversight. */
export const newRepository = z
  .strictObject({
    name: repositoryName,
    ...visibility,
    description: personText(MAX_DESCRIPTION_CHARACTERS).nullish(),
    ...IGNORED,
    team_id: ignored,
    auto_init: ignored,
    gitignore_template: ignored,
    license_template: ignored,
  })
  .refine(agree, CONTRADICTION)
  .transform((given) => ({
    name: given.name,
    private: wantsPrivate(given) ?? true,
    description: given.description ?? null,
  }));
export type NewRepository = z.infer<typeof newRepository>;

/** What is not named stays as it is. */
export const repositoryEdit = z
  .strictObject({
    name: z.string().optional(),
    ...visibility,
    description: personText(MAX_DESCRIPTION_CHARACTERS).nullish(),
    // Ignored it would seem to have been done.
    archived: z.literal(false, { error: 'Archiving is not offered.' }).optional(),
    ...IGNORED,
    default_branch: ignored,
    allow_forking: ignored,
    allow_update_branch: ignored,
    has_pull_requests: ignored,
    pull_request_creation_policy: ignored,
    security_and_analysis: ignored,
    use_squash_pr_title_as_default: ignored,
    web_commit_signoff_required: ignored,
  })
  .refine(agree, CONTRADICTION)
  .transform((given) => ({
    name: given.name,
    private: wantsPrivate(given),
    description: given.description,
  }));
export type RepositoryEdit = z.infer<typeof repositoryEdit>;
