import * as z from 'zod';

/** What is left out stays. */
export const mailChoiceEdit = z.strictObject({
  watching: z.boolean().optional(),
  participating: z.boolean().optional(),
  own_actions: z.boolean().optional(),
});
export type MailChoiceEdit = z.infer<typeof mailChoiceEdit>;

export const mailChoiceAnswer = z
  .object({
    /** Mail of repositories that you watch. */
    watching: z.boolean(),
    /** Mail of threads that you take part in, subscribed to, or are mentioned in. */
    participating: z.boolean(),
    /** Mail of what you did yourself. */
    own_actions: z.boolean(),
  })
  .meta({ id: 'MailChoices' });
export type MailChoiceAnswer = z.infer<typeof mailChoiceAnswer>;
