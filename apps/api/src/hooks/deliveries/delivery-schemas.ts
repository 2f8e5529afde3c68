import * as z from 'zod';

import { cursorOf, perPage, uuidOf } from '../../http/page.js';
import { pathNumber } from '../../repositories/repository-path.js';
import { hookPath } from '../hook-schemas.js';

export const deliveryPath = hookPath.extend({ delivery_id: pathNumber });
export type DeliveryPath = z.infer<typeof deliveryPath>;

const delivered = z.enum(['success', 'failure'], {
  error: 'It is "success" (delivered) or "failure" (neither delivered nor cancelled).',
});

/** GitHub's form of a page of deliveries: its cursor is called so. */
export const deliveryPage = z.strictObject({
  per_page: perPage,
  cursor: cursorOf('deliveries'),
  status: delivered
    .optional()
    .describe('Only attempts that were delivered, or only those that failed'),
  event_id: uuidOf('Only attempts to send this event').optional(),
  guid: uuidOf('Only attempts of this delivery').optional(),
});
export type DeliveryPage = z.infer<typeof deliveryPage>;
