import { checkOwnEmail, MAX_ADDRESSES } from '@ghost/operations';
import * as z from 'zod';

import { pageOf } from '../../http/page.js';

/** An address of 254 octets: RFC 5321, 4.5.3.1.3. */
const MAX_ADDRESS = 254;

const address = z
  .string()
  .max(MAX_ADDRESS, { abort: true, error: `An address has at most ${MAX_ADDRESS} characters.` })
  .superRefine((text, context) => {
    const complaint = checkOwnEmail(text);
    if (complaint !== null) context.addIssue({ code: 'custom', message: complaint });
  });

const emails = z
  .array(address)
  .min(1, 'Name one address at least.')
  .max(MAX_ADDRESSES, { abort: true, error: `Name at most ${MAX_ADDRESSES} addresses at once.` })
  .transform(withoutRepeats);

/** As GitHub takes it: an object; also the bare array, or one bare address. */
export const emailList = z
  .preprocess((given) => {
    if (typeof given === 'string') return { emails: [given] };
    return Array.isArray(given) ? { emails: given } : given;
  }, z.strictObject({ emails }))
  .meta({ id: 'EmailList' });
export type EmailList = z.infer<typeof emailList>;

export const newPrimary = z.strictObject({ email: address }).meta({ id: 'NewPrimaryEmail' });
export type NewPrimary = z.infer<typeof newPrimary>;

export const emailPage = pageOf('addresses');
export type EmailPage = z.infer<typeof emailPage>;

/** GitHub's "email". */
export const emailAnswer = z
  .object({
    email: z.string(),
    primary: z.boolean().describe('Where mail goes'),
    verified: z.boolean(),
    visibility: z.literal('private').nullable().describe('Addresses are never shown to others'),
  })
  .meta({ id: 'Email' });
export type EmailAnswer = z.infer<typeof emailAnswer>;

function withoutRepeats(list: readonly string[]): string[] {
  return [...new Map(list.map((one) => [one.toLowerCase(), one])).values()];
}
