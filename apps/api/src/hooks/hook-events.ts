import { ALL_EVENTS, type HookEdit } from './hook-schemas.js';

export type EditedEvents =
  | { ok: true; events: readonly string[] }
  | { ok: false; field: string; code: string; message: string };

/** The events of a hook after an edit: `events` replaces them, then come `add_events` and `remove_events`. */
export function editEvents(
  current: readonly string[],
  {
    events,
    add_events: added = [],
    remove_events: removed = [],
  }: Pick<HookEdit, 'events' | 'add_events' | 'remove_events'>,
): EditedEvents {
  const before = [...new Set([...(events ?? current), ...added])];
  const all = before.includes(ALL_EVENTS) && !removed.includes(ALL_EVENTS);
  // Leaving one out of "all" would say that it no longer comes, and it would.
  if (all && removed.length > 0) {
    return {
      ok: false,
      field: 'remove_events',
      code: 'all_events',
      message: 'The hook asks for all events ("*"). Name those that it shall get in "events".',
    };
  }
  if (all) return { ok: true, events: [ALL_EVENTS] };
  const left = before.filter((name) => !removed.some((gone) => gone === name));
  if (left.length > 0) return { ok: true, events: left };
  return {
    ok: false,
    field: 'remove_events',
    code: 'no_events',
    message: 'No event would be left. Set "active" to false, or delete the hook.',
  };
}
