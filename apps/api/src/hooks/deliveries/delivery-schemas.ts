import * as z from 'zod';

import { cursorOf, perPage } from '../../http/page.js';
import { pathNumber } from '../../repositories/repository-path.js';
import { hookPath } from '../hook-schemas.js';

export const deliveryPath = hookPath.extend({ delivery_id: pathNumber });
export type DeliveryPath = z.infer<typeof deliveryPath>;

const delivered = z.enum(['success', 'failure'], {
  error: 'It is "success" (delivered) or "failure" (everything else).',
});

/** GitHub's form of a page of deliveries: its cursor is called so. */
export const deliveryPage = z.strictObject({
  per_page: perPage,
  cursor: cursorOf('deliveries'),
  status: delivered.optional().describe('Only attempts that were delivered, or only the others'),
});
export type DeliveryPage = z.infer<typeof deliveryPage>;
