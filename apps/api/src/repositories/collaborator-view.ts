import type { Permission } from '@ghost/db';
import * as z from 'zod';

import type { Person } from '../accounts/current-account.js';
import { personAnswer, personView } from '../accounts/person-view.js';
import { permissionsAnswer, permissionsView } from './repository-view.js';

/** Somebody with what they may do in one repository. */
export interface Collaborator extends Person {
  permission: Permission;
}

const roleName = z.enum(['none', 'read', 'write', 'admin']);

/** GitHub's "collaborator". */
export const collaboratorAnswer = personAnswer
  .extend({ permissions: permissionsAnswer, role_name: roleName })
  .meta({ id: 'Collaborator' });
export type CollaboratorAnswer = z.infer<typeof collaboratorAnswer>;

/** GitHub's "repository collaborator permission". */
export const collaboratorPermissionAnswer = z
  .object({ permission: roleName, role_name: roleName, user: collaboratorAnswer })
  .meta({ id: 'CollaboratorPermission' });
export type CollaboratorPermissionAnswer = z.infer<typeof collaboratorPermissionAnswer>;

export function collaboratorView(publicUrl: string, person: Collaborator): CollaboratorAnswer {
  return {
    ...personView(publicUrl, person),
    permissions: permissionsView(person.permission),
    role_name: person.permission,
  };
}

export function collaboratorPermissionView(
  publicUrl: string,
  person: Collaborator,
): CollaboratorPermissionAnswer {
  const { permission } = person;
  return { permission, role_name: permission, user: collaboratorView(publicUrl, person) };
}
