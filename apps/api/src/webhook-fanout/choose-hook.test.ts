import { describe, expect, test } from 'vitest';

import { type HookChoice, skipHook } from './choose-hook.js';

const HOOK: HookChoice = { id: 5, active: true, events: ['thread.opened'], filters: [] };
const EVENT = { type: 'thread.opened', payload: { thread: { number: 1, state: 'open' } } };
const NOTHING_ELSE = { commentGone: false, chain: [] };

const skip = (hook: Partial<HookChoice>, event = {}, more = {}) =>
  skipHook({ ...HOOK, ...hook }, { ...EVENT, ...event }, { ...NOTHING_ELSE, ...more });

const closedOnly = [{ field: 'thread.state', is: ['closed'] }] as const;

describe('a hook', () => {
  test('gets what it asked for and its filters let pass', () => {
    expect(skip({})).toBeNull();
    expect(skip({ filters: [{ field: 'thread.state', is: ['open'] }] })).toBeNull();
  });

  test('does not get what a filter stops, and the first that does is told', () => {
    const filters = [{ field: 'thread.number', is: [1] }, ...closedOnly] as const;
    expect(skip({ filters })).toEqual({ reason: 'filtered', detail: 'thread.state' });
    // It has no such field at all.
    const onMembers = { filters: [{ field: 'member.login', is_not: ['ada'] }] as const };
    expect(skip(onMembers)).toEqual({ reason: 'filtered', detail: 'member.login' });
  });

  test('gets its pings, whatever its filters say', () => {
    const ping = { type: 'ping', payload: { hook_id: 5 } };
    expect(skip({ filters: closedOnly }, ping)).toBeNull();
  });

  test('gets nothing that it led to, pings neither', () => {
    const own = { reason: 'recursion', detail: 'own' };
    expect(skip({}, {}, { chain: [4, 5, 6] })).toEqual(own);
    expect(skip({}, { type: 'ping' }, { chain: [5] })).toEqual(own);
    expect(skip({}, {}, { chain: [4, 6] })).toBeNull();
  });

  test('gets nothing that ten others led to', () => {
    const others = (length: number) => ({ chain: Array.from({ length }, (_, n) => 100 + n) });
    expect(skip({}, {}, others(9))).toBeNull();
    expect(skip({}, {}, others(10))).toEqual({ reason: 'recursion', detail: 'too_long' });
  });

  test('is told the reason that it can do most about', () => {
    const all = { chain: [5], commentGone: true };
    expect(skip({ active: false, events: [] }, {}, all)?.reason).toBe('inactive');
    expect(skip({ events: [], filters: closedOnly }, {}, all)?.reason).toBe('not_subscribed');
    expect(skip({ filters: closedOnly }, {}, all)?.reason).toBe('filtered');
    expect(skip({}, {}, all)?.reason).toBe('recursion');
    expect(skip({}, {}, { commentGone: true })?.reason).toBe('comment_deleted');
  });
});
