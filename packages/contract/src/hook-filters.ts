import * as z from 'zod';

import { HOOK_EVENT_TYPES } from './events.js';
import {
  eventsWithField,
  FILTER_FIELD_NAMES,
  FILTER_FIELDS,
  FILTER_OPERATORS,
  FILTER_STATES,
  type FilterField,
  type FilterOperator,
  OPERATORS_OF,
} from './filter-fields.js';

export const MAX_FILTERS = 10;
export const MAX_FILTER_VALUES = 50;
export const MAX_FILTER_VALUE_CHARACTERS = 256;
/** Of all values of a hook together: each event reads them for each hook. */
export const MAX_FILTER_CHARACTERS = 8_192;

export type FilterValue = string | number | boolean;

/** One condition on an event: a field, one operator, and the values of which one must fit. */
export type HookFilter = { field: FilterField } & {
  [O in FilterOperator]?: readonly FilterValue[];
};

const ALL_EVENTS = '*';
const OPERATOR_LIST = FILTER_OPERATORS.map((name) => `"${name}"`).join(', ');
const UNSTORABLE = /[\0\p{Cs}]/u;

// Counted before any is judged: a body may name 100,000 of them.
const values = z
  .array(z.unknown())
  .min(1, 'Name at least one value.')
  .max(MAX_FILTER_VALUES, `Name at most ${MAX_FILTER_VALUES} values.`)
  .pipe(
    z.array(
      z.union([z.string(), z.number(), z.boolean()], {
        error: 'It must be a text, a number, true or false.',
      }),
    ),
  );

const condition = z
  .strictObject({
    field: z.enum(FILTER_FIELD_NAMES, {
      error: `There is no such field. Known are: ${FILTER_FIELD_NAMES.join(', ')}.`,
    }),
    is: values.optional(),
    is_not: values.optional(),
    starts_with: values.optional(),
    contains: values.optional(),
  })
  .transform((given, context): HookFilter => {
    // An unknown field beside these was told, and may be the operator that is missing.
    if (context.issues.length > 0) return z.NEVER;
    const { field } = given;
    const [operator, ...more] = FILTER_OPERATORS.filter((name) => given[name] !== undefined);
    const known = OPERATORS_OF[FILTER_FIELDS[field]];
    if (operator === undefined || more.length > 0) {
      refuse(context, [], `Say one of ${OPERATOR_LIST}; another condition is another filter.`);
      return z.NEVER;
    }
    if (!known.includes(operator)) {
      refuse(context, [operator], `"${field}" takes ${known.join(', ')} alone.`);
      return z.NEVER;
    }
    const listed = given[operator] ?? [];
    for (const [place, value] of listed.entries()) {
      const fault = faultOf(field, value);
      if (fault !== null) refuse(context, [operator, place], fault);
    }
    return { field, [operator]: listed };
  });

/** The filters of a hook as people write them: all of them must hold. */
export const hookFilters = z
  .array(z.unknown())
  .max(MAX_FILTERS, `There are at most ${MAX_FILTERS} filters.`)
  .pipe(z.array(condition))
  .refine(
    (filters) => charactersOf(filters) <= MAX_FILTER_CHARACTERS,
    `All values together are longer than ${MAX_FILTER_CHARACTERS} characters.`,
  );

/** Its one operator and the values; null for one that this version does not know. */
export function conditionOf(
  filter: HookFilter,
): { operator: FilterOperator; values: readonly FilterValue[] } | null {
  for (const operator of FILTER_OPERATORS) {
    const listed = filter[operator];
    if (listed !== undefined) return { operator, values: listed };
  }
  return null;
}

/** In the order of its fields in which every answer, comparison and tag has them. */
export function canonicalFilters(filters: readonly HookFilter[]): HookFilter[] {
  return filters.map((filter) => {
    const known = conditionOf(filter);
    return known === null ? filter : { field: filter.field, [known.operator]: known.values };
  });
}

/** A filter of which nothing can ever come; `index` is null when only all of them together are at fault. */
export interface FutileFilter {
  index: number | null;
  message: string;
}

/**
 * Whether a hook with these filters could ever get one of its events: an event without a field of theirs does
 * not pass.
 */
export function futileFilter(
  filters: readonly HookFilter[],
  events: readonly string[],
): FutileFilter | null {
  const asked = HOOK_EVENT_TYPES.filter(
    (type) => events.includes(ALL_EVENTS) || events.includes(type),
  );
  let left = asked;
  for (const [index, { field }] of filters.entries()) {
    const holding = eventsWithField(field);
    if (!asked.some((type) => holding.includes(type))) {
      return {
        index,
        message: `No event that the hook asks for holds "${field}"; these do: ${holding.join(', ')}.`,
      };
    }
    left = left.filter((type) => holding.includes(type));
  }
  if (left.length > 0 || filters.length === 0) return null;
  return { index: null, message: 'No event that the hook asks for holds all of these fields.' };
}

function faultOf(field: FilterField, value: FilterValue): string | null {
  switch (FILTER_FIELDS[field]) {
    case 'number':
      return Number.isSafeInteger(value) ? null : 'It must be a whole number.';
    case 'flag':
      return typeof value === 'boolean' ? null : 'It must be true or false.';
    case 'state':
      return FILTER_STATES.includes(String(value)) && typeof value === 'string'
        ? null
        : `There is no such state. Known are: ${FILTER_STATES.join(', ')}.`;
    case 'login':
    case 'line':
    case 'text':
      return textFault(value);
  }
}

function textFault(value: FilterValue): string | null {
  if (typeof value !== 'string' || value === '') return 'It must be a text of a character or more.';
  if (value.length > MAX_FILTER_VALUE_CHARACTERS) {
    return `It is longer than ${MAX_FILTER_VALUE_CHARACTERS} characters.`;
  }
  return UNSTORABLE.test(value) ? 'It holds a character that cannot be stored.' : null;
}

function charactersOf(filters: readonly HookFilter[]): number {
  let characters = 0;
  for (const filter of filters) {
    for (const value of conditionOf(filter)?.values ?? []) characters += String(value).length;
  }
  return characters;
}

function refuse(context: z.RefinementCtx, path: (string | number)[], message: string): void {
  context.addIssue({ code: 'custom', path, message });
}
