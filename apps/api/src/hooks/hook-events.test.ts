import { describe, expect, test } from 'vitest';

import { editEvents } from './hook-events.js';
import type { HookEdit } from './hook-schemas.js';

describe('the events of a hook after an edit', () => {
  test.each<[string, string[], HookEdit, string[]]>([
    ['nothing named', ['thread.opened'], {}, ['thread.opened']],
    ['replaced', ['thread.opened'], { events: ['thread.closed'] }, ['thread.closed']],
    [
      'added, each once',
      ['thread.opened'],
      { add_events: ['thread.opened', 'thread.closed'] },
      ['thread.opened', 'thread.closed'],
    ],
    [
      'taken away, and one that it never had',
      ['thread.opened', 'thread.closed'],
      { remove_events: ['thread.closed', 'member.added'] },
      ['thread.opened'],
    ],
    [
      'replaced, then added, then taken away',
      ['member.added'],
      {
        events: ['thread.opened', 'thread.closed'],
        add_events: ['comment.created'],
        remove_events: ['thread.opened'],
      },
      ['thread.closed', 'comment.created'],
    ],
    ['all added', ['thread.opened'], { add_events: ['*'] }, ['*']],
    [
      'all taken away for one',
      ['*'],
      { add_events: ['thread.opened'], remove_events: ['*'] },
      ['thread.opened'],
    ],
  ])('%s', (_name, current, edit, events) => {
    expect(editEvents(current, edit)).toEqual({ ok: true, events });
  });

  test.each<[string, string[], HookEdit, string]>([
    ['none is left', ['thread.opened'], { remove_events: ['thread.opened'] }, 'no_events'],
    ['one less than all', ['*'], { remove_events: ['thread.opened'] }, 'all_events'],
  ])('refused: %s', (_name, current, edit, code) => {
    expect(editEvents(current, edit)).toMatchObject({ ok: false, field: 'remove_events', code });
  });
});
