import type { EventPayload } from '@ghost/contract';

type ThreadPayload = EventPayload<'thread.opened'>;
export type ActorSnapshot = ThreadPayload['sender'];
export type RepositorySnapshot = ThreadPayload['repository'];
/** With what every snapshot that is made now holds; those of older events lack it. */
export type ThreadSnapshot = ThreadPayload['thread'] & {
  updated_at: string;
  closed_at: string | null;
};
export type CommentSnapshot = EventPayload<'comment.created'>['comment'] & { number: number };
export type HookSnapshot = EventPayload<'ping'>['hook'];

export interface ActorRow {
  id: number;
  login: string;
  name: string;
}
interface RepositoryRow {
  id: number;
  name: string;
  private: boolean;
}
interface ThreadRow {
  id: number;
  number: number;
  title: string;
  body: string;
  state: 'open' | 'closed';
  createdAt: Date;
  updatedAt: Date;
  closedAt: Date | null;
}
interface CommentRow {
  id: number;
  number: number;
  body: string;
  createdAt: Date;
  updatedAt: Date;
}
interface HookRow {
  id: number;
  url: string;
  events: string[];
  active: boolean;
}

/**
 * The only place that says how a row looks in an event. An event is a snapshot: what a receiver or
 * reader gets tells how things were, however late it arrives. Links begin with `publicUrl`.
 */
export function actorSnapshot({ id, login, name }: ActorRow): ActorSnapshot {
  return { id, login, name };
}

export function repositorySnapshot(
  publicUrl: string,
  repository: RepositoryRow,
  owner: ActorRow,
): RepositorySnapshot {
  const fullName = `${owner.login}/${repository.name}`;
  return {
    id: repository.id,
    owner: owner.login,
    name: repository.name,
    full_name: fullName,
    private: repository.private,
    html_url: `${publicUrl}/${fullName}`,
  };
}

export function threadSnapshot(
  repository: RepositorySnapshot,
  thread: ThreadRow,
  author: ActorRow,
): ThreadSnapshot {
  return {
    id: thread.id,
    number: thread.number,
    title: thread.title,
    body: thread.body,
    state: thread.state,
    html_url: threadPage(repository, thread),
    user: actorSnapshot(author),
    created_at: thread.createdAt.toISOString(),
    updated_at: thread.updatedAt.toISOString(),
    closed_at: thread.closedAt?.toISOString() ?? null,
  };
}

/** The web page of a thread. */
export function threadPage(repository: RepositorySnapshot, { number }: { number: number }): string {
  return `${repository.html_url}/threads/${number}`;
}

export function commentSnapshot(
  thread: Pick<ThreadSnapshot, 'html_url'>,
  comment: CommentRow,
  author: ActorRow,
): CommentSnapshot {
  return {
    id: comment.id,
    number: comment.number,
    body: comment.body,
    html_url: `${thread.html_url}#comment-${comment.id}`,
    user: actorSnapshot(author),
    created_at: comment.createdAt.toISOString(),
    updated_at: comment.updatedAt.toISOString(),
  };
}

/** A text's snapshot with whom it mentions; left out when that is nobody. */
export function withMentions<T extends { mentions?: ActorSnapshot[] | undefined }>(
  snapshot: T,
  people: readonly ActorRow[],
): T {
  return people.length === 0 ? snapshot : { ...snapshot, mentions: people.map(actorSnapshot) };
}

/** A secret is no part of it. */
export function hookSnapshot({ id, url, events, active }: HookRow): HookSnapshot {
  return { id, url, events, active };
}
