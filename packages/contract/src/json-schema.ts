import * as z from 'zod';

import { deliveryJob } from './delivery-job.js';

/** The job's shape as JSON Schema (2020-12), for workers in other languages; kept in `schemas/`. */
export function deliveryJobJsonSchema(): unknown {
  return z.toJSONSchema(deliveryJob, { target: 'draft-2020-12' });
}
