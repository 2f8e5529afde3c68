import type { schema } from '@ghost/db';

import type { RepositoryAccess } from '../repositories/repository-access.js';
import { repositorySnapshot } from '../snapshots.js';

/** GitHub's sign for "there is a secret"; never accepted as one. */
const SECRET_MASK = '********';

export type HookRow = typeof schema.hook.$inferSelect;

/** A hook in an answer, in GitHub's shape; `secret` is shown in the one answer that made it. */
export function hookView(
  publicUrl: string,
  { repository, owner }: RepositoryAccess,
  hook: HookRow,
  secret: string = SECRET_MASK,
) {
  const { full_name } = repositorySnapshot(publicUrl, repository, owner);
  return {
    type: 'Repository' as const,
    id: hook.id,
    name: 'web' as const,
    active: hook.active,
    events: hook.events,
    config: {
      url: hook.url,
      content_type: 'json' as const,
      insecure_ssl: '0' as const,
      secret,
      github_signature: hook.githubSignature,
    },
    created_at: hook.createdAt.toISOString(),
    updated_at: hook.updatedAt.toISOString(),
    url: `${publicUrl}/api/repos/${full_name}/hooks/${hook.id}`,
  };
}
