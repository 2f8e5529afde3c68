/** What was wrong with a wish for an account, its tokens or its addresses; stable. */
export type AccountProblem =
  | 'bad_login'
  | 'bad_email'
  | 'bad_name'
  | 'login_taken'
  | 'unknown_login'
  | 'bad_label'
  | 'bad_scopes'
  | 'bad_expiry'
  | 'scope_not_held'
  | 'outlives_token'
  | 'token_ended'
  | 'too_many_tokens'
  | 'already_verified'
  | 'too_many_addresses'
  | 'primary_address'
  | 'unverified_address'
  | 'suppressed_address';

/** Why an account was not made or changed; the message is for the person who asked. */
export class AccountError extends Error {
  override readonly name = 'AccountError';
  readonly problem: AccountProblem;
  /** Which of the things that were named, from 0; undefined where one was. */
  readonly place: number | undefined;

  constructor(
    problem: AccountProblem,
    message: string,
    options: ErrorOptions & { place?: number } = {},
  ) {
    super(message, options);
    this.problem = problem;
    this.place = options.place;
  }
}

/** @throws AccountError when a rule has a complaint */
export function refuse(problem: AccountProblem, complaint: string | null): void {
  if (complaint !== null) throw new AccountError(problem, complaint);
}
