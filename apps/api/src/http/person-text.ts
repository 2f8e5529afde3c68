import * as z from 'zod';

const NUL = '\0';
// Line and paragraph separators count too: a title is one line, in mails and pages.
const CONTROL_CHARACTER = /[\p{Cc}\u2028\u2029]/u;
// Zero-width spaces and joiners, bidi marks, fillers and variation selectors (Unicode's "default ignorable")
// and the empty Braille pattern show nothing: a text of them alone looks empty.
const VISIBLE = /[^\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * Text that a person wrote. A lone surrogate has no UTF-8 form and becomes U+FFFD; NUL, which Postgres
 * cannot hold, is refused rather than silently replaced. The length is counted in code points, so an
 * emoji is as long as a letter.
 */
export function personText(maxCharacters: number) {
  // JSON Schema counts code points too.
  return z
    .string()
    .meta({ maxLength: maxCharacters })
    .transform((raw, context) => {
      if (raw.includes(NUL)) {
        refuse(
          context,
          'invalid',
          'The text holds a NUL character (U+0000), which cannot be stored.',
        );
        return z.NEVER;
      }
      if (isLongerThan(raw, maxCharacters)) {
        refuse(context, 'too_long', `The text is longer than ${maxCharacters} characters.`);
        return z.NEVER;
      }
      return raw.toWellFormed();
    });
}

/** {@link personText} that shows something. */
export function requiredPersonText(maxCharacters: number) {
  return personText(maxCharacters).refine((text) => VISIBLE.test(text), {
    error: 'The text is empty.',
    params: { code: 'missing_field' },
  });
}

/** One line of {@link requiredPersonText}, without blanks at its ends. */
export function personLine(maxCharacters: number) {
  return requiredPersonText(maxCharacters)
    .refine((text) => !CONTROL_CHARACTER.test(text), {
      error: 'The text holds a line break or another control character.',
      params: { code: 'invalid' },
    })
    .transform((text) => text.trim());
}

function refuse(context: z.RefinementCtx, code: string, message: string): void {
  context.addIssue({ code: 'custom', message, params: { code } });
}

function isLongerThan(text: string, maxCharacters: number): boolean {
  // A code point has one or two UTF-16 units, so most texts need no count.
  if (text.length <= maxCharacters) return false;
  if (text.length > maxCharacters * 2) return true;
  let count = 0;
  for (const _ of text) count += 1;
  return count > maxCharacters;
}
