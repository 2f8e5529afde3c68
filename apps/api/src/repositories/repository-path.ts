import * as z from 'zod';

/** `{owner}/{repo}` of a route: what cannot be one names nothing, and is not asked of the database. */
export const repositoryPath = z.object({
  owner: z.string().regex(/^[A-Za-z0-9-]{1,39}$/u),
  repo: z.string().regex(/^[A-Za-z0-9._-]{1,100}$/u),
});
export type RepositoryPath = z.infer<typeof repositoryPath>;

export const username = z.string().regex(/^[A-Za-z0-9-]{1,39}$/u);

/** An integer id or number in a path. */
export const pathNumber = z
  .string()
  .regex(/^[1-9]\d{0,15}$/u)
  .transform(Number)
  .refine(Number.isSafeInteger);
