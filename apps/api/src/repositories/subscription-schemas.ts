import * as z from 'zod';

/**
 * What somebody wants to hear of something. Nothing given means: subscribe. Neither subscribed nor ignored is
 * as if nothing had been said.
 * @param error - why both at once are none
 */
export function subscriptionChoice(error: string) {
  return z
    .strictObject({ subscribed: z.boolean().optional(), ignored: z.boolean().default(false) })
    .transform(({ subscribed, ignored }) => ({ subscribed: subscribed ?? !ignored, ignored }))
    .refine(({ subscribed, ignored }) => !(subscribed && ignored), { path: ['ignored'], error });
}

export const newSubscription = subscriptionChoice('A repository is either watched or ignored.');
export type NewSubscription = z.infer<typeof newSubscription>;

/** GitHub's "repository subscription". */
export const subscriptionAnswer = z
  .object({
    subscribed: z.boolean(),
    ignored: z.boolean(),
    reason: z.null(),
    created_at: z.iso.datetime(),
    url: z.string(),
    repository_url: z.string(),
  })
  .meta({ id: 'RepositorySubscription' });
export type SubscriptionAnswer = z.infer<typeof subscriptionAnswer>;
