import * as z from 'zod';

import type { Person } from './current-account.js';

const url = z.string();

/** A person in an answer: GitHub's "simple user". What Ghost has no page for leads to a 404. */
export const personAnswer = z
  .object({
    login: z.string(),
    id: z.int(),
    node_id: z.string(),
    name: z.string(),
    avatar_url: url,
    gravatar_id: z.string(),
    url,
    html_url: url,
    followers_url: url,
    following_url: url,
    gists_url: url,
    starred_url: url,
    subscriptions_url: url,
    organizations_url: url,
    repos_url: url,
    events_url: url,
    received_events_url: url,
    type: z.literal('User'),
    site_admin: z.boolean(),
  })
  .meta({ id: 'Person' });
export type PersonAnswer = z.infer<typeof personAnswer>;

/** GitHub's opaque global id of a thing. */
export function nodeId(kind: string, id: number): string {
  return Buffer.from(`${kind}:${id}`, 'latin1').toString('base64url');
}

/** Whether somebody is an operator is nobody else's business: only one's own answer says it. */
export function personView(
  publicUrl: string,
  { id, login, name }: Person,
  siteAdmin = false,
): PersonAnswer {
  const api = `${publicUrl}/api/users/${login}`;
  return {
    login,
    id,
    node_id: nodeId('User', id),
    name,
    avatar_url: `${api}/avatar`,
    gravatar_id: '',
    url: api,
    html_url: `${publicUrl}/${login}`,
    followers_url: `${api}/followers`,
    following_url: `${api}/following{/other_user}`,
    gists_url: `${api}/gists{/gist_id}`,
    starred_url: `${api}/starred{/owner}{/repo}`,
    subscriptions_url: `${api}/subscriptions`,
    organizations_url: `${api}/orgs`,
    repos_url: `${api}/repos`,
    events_url: `${api}/events{/privacy}`,
    received_events_url: `${api}/received_events`,
    type: 'User',
    site_admin: siteAdmin,
  };
}
