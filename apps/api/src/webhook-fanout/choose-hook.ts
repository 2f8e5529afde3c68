import { type EventPayload, HOOK_EVENT_TYPES } from '@ghost/contract';

import type { FanoutEvent } from '../outbox/fanout-consumer.js';
import { COMMENT_DELETED } from '../outbox/is-comment-gone.js';

export interface HookChoice {
  id: number;
  active: boolean;
  /** Event types, or `*`. */
  events: readonly string[];
}

/** Why a hook of the repository gets nothing; the code is in `fanout_skip`. */
export type HookSkip = 'inactive' | 'not_subscribed' | typeof COMMENT_DELETED;

/** Which hooks an event is for: those of its repository, one alone, or none. */
export type HookScope =
  | { scope: 'repository' }
  | { scope: 'hook'; hookId: number }
  | { scope: 'none' };

export function hookScope(event: FanoutEvent): HookScope {
  if (event.repositoryId === null) return { scope: 'none' };
  if (event.type === 'ping') {
    return { scope: 'hook', hookId: (event.payload as EventPayload<'ping'>).hook_id };
  }
  const forHooks = (HOOK_EVENT_TYPES as readonly string[]).includes(event.type);
  return forHooks ? { scope: 'repository' } : { scope: 'none' };
}

/** Null: it gets the event. A ping asks no subscription: it is there to try the hook. */
export function skipHook(hook: HookChoice, type: string, commentGone: boolean): HookSkip | null {
  if (!hook.active) return 'inactive';
  const asked = type === 'ping' || hook.events.includes('*') || hook.events.includes(type);
  if (!asked) return 'not_subscribed';
  return commentGone ? COMMENT_DELETED : null;
}
