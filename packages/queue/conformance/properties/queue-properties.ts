import * as fc from 'fast-check';

import type { QueueHarness } from '../queue-harness.js';
import { KNOWN_INTERLEAVINGS } from './known-interleavings.js';
import { PropertyRun } from './property-run.js';
import { type Step, steps } from './steps.js';

export interface PropertyOptions {
  /** Random ones, after the known interleavings. */
  readonly runs: number;
  /** Default: of the environment (`PROPERTY_SEED`), else by chance. */
  readonly seed?: number;
  /** No run is begun after it. */
  readonly limitMs: number;
  /** Whether a failing case is made small; it takes a minute or two. Default: yes. */
  readonly shrink?: boolean;
}

export interface PropertyResult {
  readonly seed: number;
  /** Those that held, and the one that did not. */
  readonly runs: number;
  /** Null where every run held; else the case, why, and how to repeat it. */
  readonly fault: string | null;
}

/** Plays random runs on an engine; `harness` must be of an empty database, used by nobody else. */
export async function checkProperties(
  harness: QueueHarness,
  options: PropertyOptions,
): Promise<PropertyResult> {
  const given = process.env['PROPERTY_SEED'];
  const seed = options.seed ?? (given ? Number(given) : undefined);
  const path = process.env['PROPERTY_PATH'];
  const details = await fc.check(
    fc.asyncProperty(steps, (run) => PropertyRun.play(harness, run)),
    {
      numRuns: KNOWN_INTERLEAVINGS.length + options.runs,
      examples: KNOWN_INTERLEAVINGS.map((known): [Step[]] => [[...known]]),
      interruptAfterTimeLimit: options.limitMs,
      endOnFailure: options.shrink === false,
      ...(seed !== undefined && { seed }),
      ...(path !== undefined && { path }),
    },
  );
  return {
    seed: details.seed,
    runs: details.numRuns,
    fault: details.failed ? faultOf(details) : null,
  };
}

function faultOf(details: fc.RunDetails<[Step[]]>): string {
  const error = details.errorInstance;
  const why = error instanceof Error ? error.message : String(error);
  const path = details.counterexamplePath;
  return [
    why,
    `after ${details.numRuns} runs and ${details.numShrinks} shrinks;`,
    `again with PROPERTY_SEED=${details.seed}${path === null ? '' : ` PROPERTY_PATH=${path}`}`,
    ...(details.counterexample?.[0] ?? []).map((step) => `  ${JSON.stringify(step)}`),
  ].join('\n');
}
