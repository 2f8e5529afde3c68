/** What reading one value gives; the problem follows the name of the setting in a sentence. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; problem: string };

/** Reads a value that is not blank and has no blanks around it. Problems never repeat the value. */
export type Parse<T> = (text: string) => Parsed<T>;

export function parsed<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

export function problem(text: string): { ok: false; problem: string } {
  return { ok: false, problem: text };
}
