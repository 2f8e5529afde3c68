import * as z from 'zod';

const DEFAULT_PER_PAGE = 30;
const MAX_PER_PAGE = 100;
const MAX_PAGE = 10_000;

/** GitHub's `per_page` and `page`. */
export const page = z.object({
  per_page: z.coerce.number().int().min(1).max(MAX_PER_PAGE).default(DEFAULT_PER_PAGE),
  page: z.coerce.number().int().min(1).max(MAX_PAGE).default(1),
});
export type Page = z.infer<typeof page>;
