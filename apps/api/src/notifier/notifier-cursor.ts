import * as z from 'zod';

const cursorShape = z.strictObject({
  /** The last account of the page before. */
  after: z.number().int(),
  /** Decided at the first page, so that all mails of an event travel in lanes of one kind. */
  bulk: z.boolean(),
  /** The stored content; null while nobody got a mail. */
  content: z.string().nullable(),
});

/** Where the notifier goes on in an audience. */
export type NotifierCursor = z.infer<typeof cursorShape>;

export function writeCursor(cursor: NotifierCursor): string {
  return JSON.stringify(cursor);
}

/** @throws when the text is not one that {@link writeCursor} made */
export function readCursor(text: string): NotifierCursor {
  return cursorShape.parse(JSON.parse(text));
}
