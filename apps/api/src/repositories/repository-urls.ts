/** GitHub's `*_url` fields of a repository: what follows its own API address. Braces are URI templates (RFC 6570). */
const API_URL_SUFFIXES = {
  archive_url: '/{archive_format}{/ref}',
  assignees_url: '/assignees{/user}',
  blobs_url: '/git/blobs{/sha}',
  branches_url: '/branches{/branch}',
  collaborators_url: '/collaborators{/collaborator}',
  comments_url: '/comments{/number}',
  commits_url: '/commits{/sha}',
  compare_url: '/compare/{base}...{head}',
  contents_url: '/contents/{+path}',
  contributors_url: '/contributors',
  deployments_url: '/deployments',
  downloads_url: '/downloads',
  events_url: '/events',
  forks_url: '/forks',
  git_commits_url: '/git/commits{/sha}',
  git_refs_url: '/git/refs{/sha}',
  git_tags_url: '/git/tags{/sha}',
  hooks_url: '/hooks',
  issue_comment_url: '/issues/comments{/number}',
  issue_events_url: '/issues/events{/number}',
  issues_url: '/issues{/number}',
  keys_url: '/keys{/key_id}',
  labels_url: '/labels{/name}',
  languages_url: '/languages',
  merges_url: '/merges',
  milestones_url: '/milestones{/number}',
  notifications_url: '/notifications{?since,all,participating}',
  pulls_url: '/pulls{/number}',
  releases_url: '/releases{/id}',
  stargazers_url: '/stargazers',
  statuses_url: '/statuses/{sha}',
  subscribers_url: '/subscribers',
  subscription_url: '/subscription',
  tags_url: '/tags',
  teams_url: '/teams',
  trees_url: '/git/trees{/sha}',
} as const;

type ApiUrlField = keyof typeof API_URL_SUFFIXES;
export type RepositoryUrls = Record<
  'url' | 'html_url' | 'clone_url' | 'git_url' | 'ssh_url' | 'svn_url' | ApiUrlField,
  string
>;

export const API_URL_FIELDS = Object.keys(API_URL_SUFFIXES) as ApiUrlField[];

/** Where a repository and its parts are; what Ghost does not have answers 404. */
export function repositoryUrls(publicUrl: string, fullName: string): RepositoryUrls {
  const url = repositoryUrl(publicUrl, fullName);
  const page = `${publicUrl}/${fullName}`;
  const { host } = new URL(publicUrl);
  const suffixed = API_URL_FIELDS.map((field) => [field, url + API_URL_SUFFIXES[field]] as const);
  return {
    url,
    html_url: page,
    clone_url: `${page}.git`,
    git_url: `git://${host}/${fullName}.git`,
    ssh_url: `git@${host}:${fullName}.git`,
    svn_url: page,
    ...(Object.fromEntries(suffixed) as Record<ApiUrlField, string>),
  };
}

/** A repository's own address in the API. */
export function repositoryUrl(publicUrl: string, fullName: string): string {
  return `${publicUrl}/api/repos/${fullName}`;
}
