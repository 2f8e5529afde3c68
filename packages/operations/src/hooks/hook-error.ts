/** What was wrong with a wish for a hook; stable. */
export type HookProblem =
  | 'unknown_hook'
  | 'bad_hook'
  | 'futile_filters'
  | 'headers_unreadable'
  | 'too_many_secrets'
  | 'held_by_operator';

/** One fault of what was given; `message` never holds a secret or the value of a header. */
export interface HookFault {
  /** `url`, `secret`, `headers`, `headers.<name>`, `filters` or `filters.<index>.field`. */
  field: string;
  code: string;
  message: string;
}

/** Why a hook was not changed; the message is for the person who asked. */
export class HookError extends Error {
  override readonly name = 'HookError';
  readonly problem: HookProblem;
  /** What of the given is at fault; empty where nothing given is. */
  readonly faults: readonly HookFault[];

  constructor(problem: HookProblem, message: string, faults: readonly HookFault[] = []) {
    super(message);
    this.problem = problem;
    this.faults = faults;
  }
}

/** @throws HookError `bad_hook` when there is a fault */
export function refuseHook(faults: readonly HookFault[]): void {
  if (faults.length === 0) return;
  throw new HookError('bad_hook', faults.map(({ message }) => message).join(' '), faults);
}
