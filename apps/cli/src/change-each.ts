import type { Context } from './context.js';
import { printJson } from './print.js';

/** How a change is told to a person; without `refused` it was done. */
export type Told = { done: string } | { refused: string };

/**
 * Changes things one by one and says at once what came of each, as a later one may fail for all; as JSON,
 * all together in the end. The command fails when one was refused.
 */
export async function changeEach<Thing, Change>(
  context: Context,
  things: readonly Thing[],
  json: boolean | undefined,
  { change, tell }: { change: (thing: Thing) => Promise<Change>; tell: (change: Change) => Told },
): Promise<void> {
  const changes: Change[] = [];
  try {
    for (const thing of things) {
      const made = await change(thing);
      changes.push(made);
      const told = tell(made);
      if ('refused' in told) context.fail();
      if (json) continue;
      if ('refused' in told) context.note(told.refused);
      else context.print(told.done);
    }
  } finally {
    if (json && changes.length > 0) printJson(context, changes);
  }
}
