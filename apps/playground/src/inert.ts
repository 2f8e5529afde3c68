// Control characters, line separators, and what turns the direction of writing.
const STEERS = /[\p{Cc}\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu;

/** A text of others on one line: what would steer a terminal or begin a line is shown as its code. */
export function inert(text: string): string {
  return text.replaceAll(
    STEERS,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
