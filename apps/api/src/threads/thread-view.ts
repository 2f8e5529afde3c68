import * as z from 'zod';

import { nodeId, personAnswer, personView } from '../accounts/person-view.js';
import { repositoryUrl } from '../repositories/repository-urls.js';
import type { CommentSnapshot, RepositorySnapshot, ThreadSnapshot } from '../snapshots.js';

const url = z.string();
const time = z.iso.datetime();

/**
 * A thread in an answer: GitHub's issue without what Ghost lacks. It holds no count of comments: each
 * comment would change its entity tag, and everybody's If-Match with it.
 */
export const threadAnswer = z
  .object({
    id: z.int(),
    node_id: z.string(),
    number: z.int(),
    title: z.string(),
    body: z.string(),
    state: z.enum(['open', 'closed']),
    locked: z.literal(false),
    user: personAnswer,
    url,
    repository_url: url,
    comments_url: url,
    html_url: url,
    created_at: time,
    updated_at: time,
    closed_at: time.nullable(),
  })
  .meta({ id: 'Thread' });
export type ThreadAnswer = z.infer<typeof threadAnswer>;

/** A comment in an answer: GitHub's issue comment, with its number in the thread. */
export const commentAnswer = z
  .object({
    id: z.int(),
    node_id: z.string(),
    number: z.int(),
    body: z.string(),
    user: personAnswer,
    url,
    thread_url: url,
    html_url: url,
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Comment' });
export type CommentAnswer = z.infer<typeof commentAnswer>;

/** How one follows a thread, in the shape of GitHub's thread subscription. */
export const threadSubscriptionAnswer = z
  .object({
    subscribed: z.boolean(),
    ignored: z.boolean(),
    reason: z.enum(['author', 'participant', 'mention', 'manual']).nullable(),
    created_at: time.nullable(),
    url,
    thread_url: url,
  })
  .meta({ id: 'ThreadSubscription' });
export type ThreadSubscriptionAnswer = z.infer<typeof threadSubscriptionAnswer>;

export function threadView(
  publicUrl: string,
  repository: RepositorySnapshot,
  thread: ThreadSnapshot,
): ThreadAnswer {
  const at = threadUrl(publicUrl, repository, thread);
  return {
    id: thread.id,
    node_id: nodeId('Thread', thread.id),
    number: thread.number,
    title: thread.title,
    body: thread.body,
    state: thread.state,
    locked: false,
    user: personView(publicUrl, thread.user),
    url: at,
    repository_url: repositoryUrl(publicUrl, repository.full_name),
    comments_url: `${at}/comments`,
    html_url: thread.html_url,
    created_at: thread.created_at,
    updated_at: thread.updated_at,
    closed_at: thread.closed_at,
  };
}

export function commentView(
  publicUrl: string,
  repository: RepositorySnapshot,
  thread: Pick<ThreadSnapshot, 'number'>,
  comment: CommentSnapshot,
): CommentAnswer {
  return {
    id: comment.id,
    node_id: nodeId('Comment', comment.id),
    number: comment.number,
    body: comment.body,
    user: personView(publicUrl, comment.user),
    url: `${repositoryUrl(publicUrl, repository.full_name)}/threads/comments/${comment.id}`,
    thread_url: threadUrl(publicUrl, repository, thread),
    html_url: comment.html_url,
    created_at: comment.created_at,
    updated_at: comment.updated_at,
  };
}

export function threadUrl(
  publicUrl: string,
  { full_name: fullName }: Pick<RepositorySnapshot, 'full_name'>,
  { number }: Pick<ThreadSnapshot, 'number'>,
): string {
  return `${repositoryUrl(publicUrl, fullName)}/threads/${number}`;
}
