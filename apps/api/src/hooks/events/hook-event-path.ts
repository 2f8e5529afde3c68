import type * as z from 'zod';

import { uuidOf } from '../../http/page.js';
import { hookPath } from '../hook-schemas.js';

export const hookEventPath = hookPath.extend({ event_id: uuidOf('An event') });
export type HookEventPath = z.infer<typeof hookEventPath>;
