import { REPLAY_SETS } from '@ghost/operations';
import * as z from 'zod';

import { instant } from '../../http/instant.js';
import { pageOf } from '../../http/page.js';
import { pathNumber } from '../../repositories/repository-path.js';
import { hookPath } from '../hook-schemas.js';

const which = z
  .enum(REPLAY_SETS, {
    error:
      'It is "failed" (given up), "undelivered" (cancelled ones too) or "all" (delivered ones too).',
  })
  .default('failed')
  .describe('"failed": given up; "undelivered": cancelled ones too; "all": delivered ones too');

const since = instant.describe('Deliveries that ended from then on');
const until = instant.optional().describe('And before that; left out: now');

/** Which deliveries of a hook are sent again. */
export const replayWish = z.strictObject({ which, since, until });
export type AskedReplay = z.infer<typeof replayWish>;

export const newReplay = replayWish.extend({
  /** What a preview counted: another number is a 409, and nothing is sent. */
  expected_total: z.int().min(0).optional(),
});
export type NewReplay = z.infer<typeof newReplay>;

export const replayPath = hookPath.extend({ replay_id: pathNumber });
export type ReplayPath = z.infer<typeof replayPath>;

export const replayPage = pageOf('replays');
