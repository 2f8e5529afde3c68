/** What was wrong with a wish for a replay; stable. */
export type ReplayProblem =
  | 'since_in_future'
  | 'since_too_old'
  | 'until_in_future'
  | 'until_before_since'
  | 'hook_inactive'
  | 'already_replaying'
  | 'total_differs'
  | 'unknown_replay'
  | 'nothing_left_to_cancel';

/** Why a replay was not previewed, started or cancelled; the message is for the person who asked. */
export class ReplayError extends Error {
  override readonly name = 'ReplayError';
  readonly problem: ReplayProblem;

  constructor(problem: ReplayProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}
