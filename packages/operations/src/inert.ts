// Control characters, line separators, and what turns the direction of writing.
const STEERS = /[\p{Cc}\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu;
const LAYOUT = new Set(['\n', '\t']);

/**
 * Shows what would steer a terminal as its code, whoever stored it; tabs and line ends stay. In JSON,
 * where such a character stands only within a string, the value stays the same.
 */
export function inert(text: string): string {
  return text.replaceAll(STEERS, (character) =>
    LAYOUT.has(character) ? character : codeOf(character),
  );
}

/** As {@link inert}, for a text of others that must stay on one line. */
export function inertLine(text: string): string {
  return text.replaceAll(STEERS, codeOf);
}

function codeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
