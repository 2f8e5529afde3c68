import type { Permission } from '@ghost/db';
import * as z from 'zod';

export type MemberPermission = Exclude<Permission, 'none'>;

/** GitHub's names of its permissions, and ours. */
export const PERMISSION_OF_NAME = {
  pull: 'read',
  push: 'write',
  read: 'read',
  write: 'write',
  admin: 'admin',
} as const satisfies Record<string, MemberPermission>;
const NAMES = Object.keys(PERMISSION_OF_NAME) as (keyof typeof PERMISSION_OF_NAME)[];

/** GitHub's default for a collaborator is `push`. */
export const newCollaborator = z.strictObject({
  permission: z
    .enum(NAMES, {
      error: ({ input }) =>
        input === 'triage' || input === 'maintain'
          ? `"${input}" is not offered: use pull, push or admin (or read, write, admin).`
          : 'Use pull, push or admin (or read, write, admin).',
    })
    .default('push')
    .transform((name) => PERMISSION_OF_NAME[name]),
});
export type NewCollaborator = z.infer<typeof newCollaborator>;
