/** What reading one entry of a setting gives: the message follows the entry in a sentence. */
export type ParsedEntry<T> = { ok: true; value: T } | { ok: false; message: string };
