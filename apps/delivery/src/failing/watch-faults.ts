import type { EndpointFault } from '@ghost/operations';

import type { AttemptReport } from '../report-attempt.js';
import type { FailingHooks } from './failing-hooks.js';
import type { HookWatchOptions } from './watch-hooks.js';

export interface FaultWatch {
  /** Of a settled try. */
  heard: (report: AttemptReport) => void;
  /** By a look at the database. */
  found: (fault: EndpointFault) => void;
}

/** Hooks that fail are watched from the first fault on: who has none loads nothing for it. */
export function watchFaults(
  options: HookWatchOptions & { closers: (() => unknown)[] },
): FaultWatch {
  let watch: Promise<FailingHooks> | undefined;
  const load = async () => {
    const { watchHooks } = await import('./watch-hooks.js');
    return watchHooks(options);
  };
  options.closers.unshift(async () => (await watch)?.stop());
  const watched = () => (watch ??= options.loaded(load()));
  return {
    heard: (report) => void watched().then((hooks) => hooks.note(report)),
    found: (fault) => void watched().then((hooks) => hooks.add(fault)),
  };
}
