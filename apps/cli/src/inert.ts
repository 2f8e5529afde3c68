// Control characters but for tab and line end, line separators, and what turns the direction of writing.
const STEERS = /[\p{Cc}\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu;

/**
 * Shows what would steer a terminal as its code, whoever stored it. In JSON, where such a character
 * stands only within a string, the value stays the same.
 */
export function inert(text: string): string {
  return text.replaceAll(STEERS, (character) =>
    character === '\n' || character === '\t'
      ? character
      : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
