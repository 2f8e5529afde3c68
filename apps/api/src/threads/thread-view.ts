import { personView } from '../repositories/repository-view.js';
import type { CommentSnapshot, ThreadSnapshot } from '../snapshots.js';

/** A thread in an answer, in the shape of GitHub's issues. */
export function threadView(thread: ThreadSnapshot) {
  const { id, number, title, body, state, html_url, user, created_at } = thread;
  return { id, number, title, body, state, html_url, user: personView(user), created_at };
}

/** A comment in an answer, in the shape of GitHub's issue comments. */
export function commentView(comment: CommentSnapshot) {
  const { id, body, html_url, user, created_at, updated_at } = comment;
  return { id, body, html_url, user: personView(user), created_at, updated_at };
}
