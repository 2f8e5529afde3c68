import { inTransaction, type Pool } from '@ghost/db';
import { type Queue, sqlOf } from '@ghost/queue';
import type { KeyRing } from '@ghost/vault';

import {
  auditHook,
  auditResumed,
  type ChangedHook,
  changeHook,
  type HookChange,
  rotateHookSecret,
} from './change-hook.js';
import { HookError } from './hook-error.js';
import { type KeptChoice, pauseHook, resumeHook, resumeInSteps } from './hook-hold.js';
import type { Rotated, Rotation } from './hook-secrets.js';
import { lockHookById, showHook } from './hooks.js';

/** What became of an operator's wish to pause or resume a hook; the reason says what to do instead. */
export type HoldChange =
  | {
      result: 'done';
      hookId: number;
      /** Kept, or due again. */
      pending: number;
      discarded?: number;
    }
  | { result: 'refused'; hookId: number; reason: string };

/**
 * An operator changes a hook; what is given was judged (`judgeHook`).
 * @throws HookError `unknown_hook`, and as `changeHook` does
 */
export async function changeHookAsOperator(
  pool: Pool,
  queue: Queue,
  ring: KeyRing,
  id: number,
  change: HookChange,
): Promise<ChangedHook> {
  return inTransaction(pool, async (tx) => {
    const { repository, ...hook } = await lockHookById(sqlOf(tx), id);
    return changeHook(tx, queue, { hook, repository, actor: null, ring }, change);
  });
}

/** An operator gives a hook a new secret. @throws HookError `unknown_hook`, and as `rotateSecret` does */
export async function rotateSecretAsOperator(
  pool: Pool,
  ring: KeyRing,
  id: number,
  rotation: Rotation,
): Promise<Rotated> {
  return inTransaction(pool, async (tx) => {
    const { repository, ...hook } = await lockHookById(sqlOf(tx), id);
    return rotateHookSecret(tx, { hook, repository, actor: null, ring }, rotation);
  });
}

/** An operator pauses a hook as its own people can, so that they can resume it too. */
export async function pauseHookAsOperator(
  pool: Pool,
  queue: Queue,
  id: number,
): Promise<HoldChange> {
  return refusable(id, async () => {
    const { pending, held } = await showHook(pool, id);
    const paused = await inTransaction(pool, async (tx) => {
      const sql = sqlOf(tx);
      const { repository } = await lockHookById(sql, id);
      if (!(await pauseHook(sql, queue, id))) return false;
      await auditHook(sql, { hook: { id }, repository, actor: null }, 'hook.paused');
      return true;
    });
    if (paused) return { result: 'done', hookId: id, pending };
    const why = held === null ? '' : ` (${held.code}, since ${held.since.toISOString()})`;
    return { result: 'refused', hookId: id, reason: `it is held already${why}` };
  });
}

/** An operator resumes a hook, whatever held it. */
export async function resumeHookAsOperator(
  pool: Pool,
  queue: Queue,
  id: number,
  kept: KeptChoice = 'send',
): Promise<HoldChange> {
  return refusable(id, async () => {
    const resumed = await resumeInSteps(() =>
      inTransaction(pool, async (tx) => {
        const sql = sqlOf(tx);
        const { repository } = await lockHookById(sql, id);
        const step = await resumeHook(sql, queue, id, 'operator', kept);
        if (step !== null) {
          await auditResumed(sql, { hook: { id }, repository, actor: null }, step, kept);
        }
        return step;
      }),
    );
    if (resumed === null) return { result: 'refused', hookId: id, reason: 'it is not held' };
    const { pending } = await showHook(pool, id);
    const { discarded } = resumed;
    return { result: 'done', hookId: id, pending, ...(kept === 'discard' ? { discarded } : {}) };
  });
}

/** Of several hooks the others are changed although one is none. */
async function refusable(hookId: number, work: () => Promise<HoldChange>): Promise<HoldChange> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof HookError) || error.problem !== 'unknown_hook') throw error;
    return { result: 'refused', hookId, reason: 'there is no such hook' };
  }
}
