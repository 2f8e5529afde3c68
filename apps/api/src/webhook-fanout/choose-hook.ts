import { type EventPayload, HOOK_EVENT_TYPES, type HookFilter } from '@ghost/contract';

import type { FanoutEvent } from '../outbox/fanout-consumer.js';
import { COMMENT_DELETED } from '../outbox/is-comment-gone.js';
import { MAX_CHAIN_HOOKS } from './hook-chains.js';
import { failedFilter } from './passes-filter.js';

export interface HookChoice {
  id: number;
  active: boolean;
  /** Event types, or `*`. */
  events: readonly string[];
  filters: readonly HookFilter[];
}

/** Why a hook of the repository gets nothing; code and detail are in `fanout_skip`. */
export interface HookSkip {
  reason:
    | 'inactive'
    | 'not_subscribed'
    | 'filtered'
    | 'recursion'
    | typeof COMMENT_DELETED
    /** It is held, and keeps as much as it may. */
    | 'held_full';
  /** Of `filtered` the field; of `recursion` whether the hook itself led there, or too many did. */
  detail: string | null;
}

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

/** What is known of an event beside its type and payload. */
export interface Circumstances {
  /** Its comment was deleted meanwhile. */
  commentGone: boolean;
  /** The hooks that led to it, the first one first. */
  chain: readonly number[];
}

/**
 * Null: it gets the event. A ping asks no subscription and no filter: it is there to try the hook; one that the
 * hook's own endpoint asked for in answer to a ping would never end, though.
 */
export function skipHook(
  hook: HookChoice,
  { type, payload }: Pick<FanoutEvent, 'type' | 'payload'>,
  { commentGone, chain }: Circumstances,
): HookSkip | null {
  if (!hook.active) return { reason: 'inactive', detail: null };
  if (type !== 'ping') {
    const asked = hook.events.includes('*') || hook.events.includes(type);
    if (!asked) return { reason: 'not_subscribed', detail: null };
    const failed = failedFilter(hook.filters, payload);
    if (failed !== null) return { reason: 'filtered', detail: failed.field };
  }
  if (chain.includes(hook.id)) return { reason: 'recursion', detail: 'own' };
  if (chain.length >= MAX_CHAIN_HOOKS) return { reason: 'recursion', detail: 'too_long' };
  return commentGone ? { reason: COMMENT_DELETED, detail: null } : null;
}
