import * as z from 'zod';

const DEFAULT_PER_PAGE = 30;
const MAX_PER_PAGE = 100;
// Digits alone: what Number() would take besides ("1e1", "0x10") is a mistake.
const PER_PAGE = /^(?:[1-9]\d?|100)$/u;
const PER_PAGE_SCHEMA = { type: 'integer', minimum: 1, maximum: MAX_PER_PAGE } as const;
const CURSOR = /^([a-z]+):(.+)$/u;
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/iu;
const NUMBER = /^[1-9]\d{0,15}$/u;

/** What a cursor walks through; one of another list is refused, not misread. */
export type ListKind =
  | 'accounts'
  | 'addresses'
  | 'comments'
  | 'deliveries'
  | 'hooks'
  | 'replays'
  | 'repositories'
  | 'skipped'
  | 'threads'
  | 'tokens'
  | 'waiting';

/** Opaque to clients: they take it from `Link`. */
export function encodeCursor(kind: ListKind, after: number | string): string {
  return Buffer.from(`${kind}:${after}`, 'latin1').toString('base64url');
}

function decodeCursor(kind: ListKind, text: string): string | null {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.toString('base64url') !== text) return null;
  const [, found, after = ''] = CURSOR.exec(bytes.toString('latin1')) ?? [];
  return found === kind ? after : null;
}

/** The query parameter that holds the cursor of a list: GitHub has one of its own for deliveries. */
export function cursorParameter(kind: ListKind): 'after' | 'cursor' {
  return kind === 'deliveries' ? 'cursor' : 'after';
}

/** How many items a page holds. */
export const perPage = z
  .string()
  .regex(PER_PAGE, `Use a whole number from 1 to ${MAX_PER_PAGE}.`)
  .transform(Number)
  .default(DEFAULT_PER_PAGE)
  .meta({ ...PER_PAGE_SCHEMA, description: 'How many, 1 to 100' });

/** An id of events and deliveries: a list is narrowed to it. */
export function uuidOf(description: string) {
  return z
    .string()
    .regex(UUID, 'This is no id: 32 hexadecimal digits, parted by hyphens into 8-4-4-4-12.')
    .toLowerCase()
    .describe(description);
}

/** Where a page of a list starts that is ordered by a number. */
export function cursorOf(kind: ListKind) {
  return textCursorOf(kind, (text) => {
    const after = NUMBER.test(text) ? Number(text) : Number.NaN;
    return Number.isSafeInteger(after) ? after : null;
  });
}

/**
 * Where a page of a list starts, as `Link` says it.
 * @param read - what a page of this list has for a place; null: it is none
 */
export function textCursorOf<T>(kind: ListKind, read: (text: string) => T | null) {
  return z
    .string()
    .transform((text, context) => {
      const place = decodeCursor(kind, text);
      const after = place === null ? null : read(place);
      if (after !== null) return after;
      context.addIssue({
        code: 'custom',
        message: 'This is no cursor of this list: take it from the Link header.',
        params: { code: 'bad_cursor' },
      });
      return z.NEVER;
    })
    .optional()
    .describe('Cursor from the Link header');
}

/**
 * `per_page` and the cursor of a list. Lists are walked by key, so a page costs the same at every depth and
 * rows that come or go meanwhile shift nothing; that is why GitHub's `page` is known only as the first.
 */
export function pageOf(kind: ListKind) {
  return z.strictObject({
    per_page: perPage,
    page: z
      .literal('1', {
        error: 'Pages have no numbers here: follow rel="next" of the Link header.',
      })
      .optional()
      .describe('Only "1": what follows is in the Link header'),
    after: cursorOf(kind),
  });
}
export type Page = z.infer<ReturnType<typeof pageOf>>;
