import { type SQL, sql, type SQLWrapper } from 'drizzle-orm';

/** About how much JSON text a page of a list holds; its first item always fits. */
export const MAX_PAGE_BYTES = 1_048_576;

/**
 * For lists of long texts: whether a row may still belong to a page, so that Postgres need not send what
 * `Listed` would leave out. JSON is never shorter than its texts, so of a page that this cuts, at least one
 * row more is read than fits: it says that more follows.
 * @param text - the column of the texts; its size is read without the text
 * @param order - as the statement is ordered, by a unique key that has an index
 */
export function fitsPage(text: SQLWrapper, order: SQL): SQL<boolean> {
  return sql<boolean>`coalesce(sum(octet_length(${text})) OVER (
    ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING
  ), 0) < ${MAX_PAGE_BYTES}`;
}
