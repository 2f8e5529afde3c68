import * as z from 'zod';

const FIRST_YEAR = 1;
const LAST_YEAR = 9999;

/**
 * A moment as text becomes a Date: RFC 3339 with an offset, from year 1 to 9999 in UTC. An offset can lead
 * out of the years that the text may write, to where neither Postgres nor an answer could follow.
 */
export const instant = z.iso
  .datetime({ offset: true, error: 'Write the time as in 2027-01-31T12:00:00Z.' })
  .transform((text, context) => {
    const moment = new Date(text);
    const year = moment.getUTCFullYear();
    // NaN, of what is no date, is neither.
    if (year >= FIRST_YEAR && year <= LAST_YEAR) return moment;
    context.addIssue({
      code: 'custom',
      message: `Use a time in the years ${FIRST_YEAR} to ${LAST_YEAR}, in UTC.`,
    });
    return z.NEVER;
  });
