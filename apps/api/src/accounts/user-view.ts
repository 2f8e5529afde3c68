import * as z from 'zod';

import type { Person } from './current-account.js';
import { personAnswer, personView } from './person-view.js';

/** A person with what their page shows. */
export interface Profile extends Person {
  isAdmin: boolean;
  createdAt: Date;
  /** How many they own. */
  publicRepositories: number;
  privateRepositories: number;
}

// What GitHub's shape demands and Ghost has not: nothing was said, nobody was counted.
const nothing = z.null();
const none = z.literal(0);

const shown = {
  company: nothing,
  blog: z.literal(''),
  location: nothing,
  email: nothing.describe('Addresses are never shown'),
  hireable: nothing,
  bio: nothing,
  twitter_username: nothing,
  public_repos: z.int().describe('How many public repositories they own'),
  public_gists: none,
  followers: none,
  following: none,
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
};

/** GitHub's "public user". */
export const publicUserAnswer = personAnswer
  .extend({ user_view_type: z.literal('public'), ...shown })
  .meta({ id: 'PublicUser' });
export type PublicUserAnswer = z.infer<typeof publicUserAnswer>;

/** GitHub's "private user": what an account sees of itself. */
export const privateUserAnswer = personAnswer
  .extend({
    user_view_type: z.literal('private'),
    ...shown,
    private_gists: none,
    total_private_repos: z.int().describe('How many private repositories you own'),
    owned_private_repos: z.int().describe('How many private repositories you own'),
    disk_usage: none,
    collaborators: none,
    two_factor_authentication: z.literal(false),
  })
  .meta({ id: 'PrivateUser' });
export type PrivateUserAnswer = z.infer<typeof privateUserAnswer>;

export function publicUserView(publicUrl: string, profile: Profile): PublicUserAnswer {
  return { ...personView(publicUrl, profile), user_view_type: 'public', ...shownOf(profile) };
}

export function privateUserView(publicUrl: string, profile: Profile): PrivateUserAnswer {
  return {
    ...personView(publicUrl, profile, profile.isAdmin),
    user_view_type: 'private',
    ...shownOf(profile),
    private_gists: 0,
    total_private_repos: profile.privateRepositories,
    owned_private_repos: profile.privateRepositories,
    disk_usage: 0,
    collaborators: 0,
    two_factor_authentication: false,
  };
}

function shownOf({ createdAt, publicRepositories }: Profile) {
  return {
    company: null,
    blog: '' as const,
    location: null,
    email: null,
    hireable: null,
    bio: null,
    twitter_username: null,
    public_repos: publicRepositories,
    public_gists: 0 as const,
    followers: 0 as const,
    following: 0 as const,
    created_at: createdAt.toISOString(),
    // Nothing of an account that is shown here changes.
    updated_at: createdAt.toISOString(),
  };
}
