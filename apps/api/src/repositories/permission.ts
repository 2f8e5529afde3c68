/** What an account may do in a repository; each includes those before it. */
export const PERMISSIONS = ['none', 'read', 'write', 'admin'] as const;
export type Permission = (typeof PERMISSIONS)[number];

/**
 * The one rule of access. The owner may everything, a member what the membership says, anybody reads
 * what is public. An operator's `is_admin` gives nothing here: it must not open private repositories.
 * `mayReadSql` of `@ghost/db` says the same of reading, for whole audiences.
 */
export function permissionOf(
  account: { id: number },
  repository: { ownerId: number; private: boolean },
  member: { permission: Exclude<Permission, 'none'> } | null,
): Permission {
  if (repository.ownerId === account.id) return 'admin';
  if (member !== null) return member.permission;
  return repository.private ? 'none' : 'read';
}

/** Whether `has` includes `needs`. */
export function includesPermission(has: Permission, needs: Permission): boolean {
  return PERMISSIONS.indexOf(has) >= PERMISSIONS.indexOf(needs);
}
