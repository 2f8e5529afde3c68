import type { MailParts } from '@ghost/contract';

import { escapeHtml } from '../../mail-links/link-page.js';

/** HTML that is safe as it stands, with slots where readers differ. */
export type Html = MailParts;

/**
 * HTML of a template: text that is put in is escaped, HTML and slots stay. Slots hold what needs no
 * escape: one word or a token, never what a person typed.
 */
export function html(
  strings: TemplateStringsArray,
  ...values: readonly (string | Html | { slot: string })[]
): Html {
  const parts: Html = [];
  const add = (part: Html[number]) => {
    const last = parts.at(-1);
    if (typeof part === 'string' && typeof last === 'string') parts[parts.length - 1] = last + part;
    else parts.push(part);
  };
  strings.forEach((text, index) => {
    add(text);
    const value = values[index];
    if (value === undefined) return;
    if (typeof value === 'string') add(escapeHtml(value));
    else if (Array.isArray(value)) value.forEach(add);
    else add(value);
  });
  return parts;
}
