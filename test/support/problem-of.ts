import { AccountError, type AccountProblem } from '@ghost/operations';

/** The problem of an AccountError that the work ends with; anything else fails the test. */
export async function problemOf(work: Promise<unknown>): Promise<AccountProblem> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AccountError)) throw new Error(`No AccountError: ${String(error)}`);
  return error.problem;
}
