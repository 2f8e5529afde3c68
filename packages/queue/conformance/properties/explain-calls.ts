import type { Call, Seen } from './calls.js';
import { Objection } from './objection.js';
import { observe } from './observe.js';
import type { QueueModel } from './queue-model.js';

/**
 * Finds an order in which verbs that ran at once can have run one after the other, so that each
 * answered as it did and the queue is as it is seen now; returns the model after them.
 *
 * @throws {Objection} when no order explains it, with what the order that got furthest met.
 */
export function explainCalls(model: QueueModel, calls: readonly Call[], seen: Seen): QueueModel {
  let furthest = -1;
  let objection: Objection | undefined;

  const search = (before: QueueModel, rest: readonly Call[]): QueueModel | undefined => {
    try {
      if (rest.length === 0) {
        observe(before, seen);
        return before;
      }
    } catch (error) {
      note(error, calls.length);
      return undefined;
    }
    for (const call of rest) {
      const after = before.copy();
      try {
        after.apply(call);
      } catch (error) {
        note(error, calls.length - rest.length);
        continue;
      }
      const found = search(
        after,
        rest.filter((other) => other !== call),
      );
      if (found) return found;
    }
    return undefined;
  };
  const note = (error: unknown, depth: number): void => {
    if (!(error instanceof Objection)) throw error;
    if (depth <= furthest) return;
    furthest = depth;
    objection = error;
  };

  const found = search(model.copy(), calls);
  if (found) return found;
  const asked = calls.map((call) => call.call).join(' beside ');
  throw new Objection(`${asked === '' ? 'at rest' : asked}: ${objection?.message ?? 'no order'}`);
}
