import type { EventPayload } from '@ghost/contract';

export interface Place {
  readonly ownerId: number;
  readonly repositoryId: number;
  readonly threadId: number;
  /** A comment of the thread, of which `publishComment` tells. */
  readonly commentId?: number;
}

/** The snapshot that a comment's event holds. */
export function commentPayload(
  place: Place,
  actorId: number,
  body: string,
): EventPayload<'comment.created'> {
  const at = '2026-01-02T03:04:05.000Z';
  const sender = { id: actorId, login: `person-${actorId}`, name: `Person ${actorId}` };
  const home = 'https://ghost.example/owner/place';
  const { commentId = 1 } = place;
  return {
    sender,
    repository: {
      id: place.repositoryId,
      owner: 'owner',
      name: 'place',
      full_name: 'owner/place',
      private: false,
      html_url: home,
    },
    thread: {
      id: place.threadId,
      number: 1,
      title: 'A thread',
      body: '',
      state: 'open',
      html_url: `${home}/threads/1`,
      user: sender,
      created_at: at,
    },
    comment: {
      id: commentId,
      number: 1,
      body,
      html_url: `${home}/threads/1#comment-${commentId}`,
      user: sender,
      created_at: at,
      updated_at: at,
    },
  };
}
