import type { CancelStep, Sql } from '../queue.js';

/** Takes one step through what was deleted: a target at a time, lanes locked first. */
export async function cancelSome(sql: Sql, jobs: number): Promise<CancelStep> {
  const [step] = await sql.query<CancelStep>(
    'SELECT cancelled, target, ended, wait_ms AS "waitMs" FROM delivery_cancel_some($1)',
    [jobs],
  );
  if (step === undefined) throw new Error('delivery_cancel_some returned no row');
  return step;
}
