import type { Child } from '../processes/children.js';
import type { Halt } from '../processes/halt.js';
import type { Options } from '../options.js';
import type { StopStack } from '../processes/stop-stack.js';
import type { Teller } from './teller.js';
import type { Observer } from '../catchers/witness.js';

/** What every step of the start is given. */
export interface StartParts {
  options: Options;
  env: NodeJS.ProcessEnv;
  halt: Halt;
  stack: StopStack;
  observer: Observer;
  /** Says what is being done while it is done. */
  step: Teller['step'];
  say: Teller['say'];
  /** Told of each child, for the end in a hurry. */
  onChild: (child: Child) => void;
}
