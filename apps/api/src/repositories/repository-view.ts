import { repositorySnapshot } from '../snapshots.js';
import { includesPermission } from './permission.js';
import type { RepositoryAccess } from './repository-access.js';

/** A person in an answer. */
export function personView({ id, login, name }: { id: number; login: string; name: string }) {
  return { id, login, name, type: 'User' as const };
}

/** A repository in an answer, in GitHub's shape. */
export function repositoryView(publicUrl: string, access: RepositoryAccess) {
  const { repository, owner, permission } = access;
  const shown = repositorySnapshot(publicUrl, repository, owner);
  return {
    id: repository.id,
    name: repository.name,
    full_name: shown.full_name,
    owner: personView(owner),
    private: repository.private,
    visibility: repository.private ? 'private' : 'public',
    description: repository.description,
    html_url: shown.html_url,
    url: `${publicUrl}/api/repos/${shown.full_name}`,
    created_at: repository.createdAt.toISOString(),
    permissions: {
      admin: includesPermission(permission, 'admin'),
      push: includesPermission(permission, 'write'),
      pull: includesPermission(permission, 'read'),
    },
  };
}
