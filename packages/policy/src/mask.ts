/** A value that is only a mark for a hidden one: `<secret>`, `[redacted]`, `{{ token }}`, `undefined`. */
const PLACEHOLDER =
  /^(?:<[^<>:/]*>|[[({]+\s*(?:[a-z _-]*(?:secret|token|password|redacted|hidden|masked|filtered|encrypted|unchanged|removed))\s*[\])}]+|redacted|undefined|null|\[object object\])$/i;
/** What a template should have put a secret for: `{{ secrets.HOOK }}`, `${HOOK_SECRET}`, `${{ secrets.HOOK }}`. */
const TEMPLATE = /^(?:\$?\{\{[^{}]*\}\}|\$\{[^{}]*\})$/;
/** Asterisks, bullets or ellipses alone, or four in a row inside: `whsec_****`, `abcd••••`; a row of x. */
const MASK_CHARACTERS = /^[*•●∙·…._-]{3,}$|^…$|[*•●∙·]{4}|^(?:x{6,}|X{6,})$/u;
const PREFIXED_BLANK = /^whsec_[*•●∙·….xX]*$/u;

/**
 * Whether a text is a mask or placeholder that a form or a `get` showed in the place of a secret.
 * Saving one would overwrite the true secret, so it is never accepted as one.
 */
export function isMask(text: string): boolean {
  const trimmed = text.trim();
  return [PLACEHOLDER, TEMPLATE, MASK_CHARACTERS, PREFIXED_BLANK].some((mark) =>
    mark.test(trimmed),
  );
}
