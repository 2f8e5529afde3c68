import type { AttemptFacts } from '@ghost/contract';

import { REDACTED } from './stored-response.js';

/** Shorter parts of a value are no keys, and stand in many an answer by chance. */
const LEAST_CHARACTERS = 8;

/**
 * Facts of an answer without the values of the owner's own headers: some receivers answer with what they got, and
 * what is sealed at rest must not stand in the history in plain text. Whole values, their words
 * (`Bearer …`) and their form in JSON are hidden.
 */
export function hideEchoes(
  facts: AttemptFacts,
  own: readonly (readonly [name: string, value: string])[],
): AttemptFacts {
  const parts = own.flatMap(([, value]) => partsOf(value));
  if (parts.length === 0) return facts;
  // The longest first: a word of a value must not break the value.
  parts.sort((a, b) => b.length - a.length);
  const hide = (text: string) =>
    parts.reduce((left, part) => left.replaceAll(part, REDACTED), text);
  const hidden: AttemptFacts = Object.assign({}, facts);
  if (facts.bodyExcerpt !== undefined) hidden.bodyExcerpt = hide(facts.bodyExcerpt);
  if (facts.responseHead !== undefined) {
    hidden.responseHead = Object.fromEntries(
      Object.entries(facts.responseHead).map(([name, value]) => [name, hide(value)]),
    );
  }
  return hidden;
}

function partsOf(value: string): string[] {
  const parts = [value, ...value.split(/[\t ]+/u)].filter(
    (part) => part.length >= LEAST_CHARACTERS,
  );
  return [...new Set(parts.flatMap((part) => [part, JSON.stringify(part).slice(1, -1)]))];
}
