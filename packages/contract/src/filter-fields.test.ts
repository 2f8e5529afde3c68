import { expect, test } from 'vitest';
import * as z from 'zod';

import { EVENT_SCHEMAS, HOOK_EVENT_TYPES, THREAD_STATES } from './events.js';
import {
  eventsWithField,
  FILTER_FIELD_NAMES,
  FILTER_FIELDS,
  FILTER_OPERATORS,
  FILTER_STATES,
  OPERATORS_OF,
} from './filter-fields.js';

/** Fields of payloads that are left out on purpose. */
const LEFT_OUT = [
  // The same for all events of a hook, as its repository is.
  /^repository\.(?:id|owner|name|full_name|html_url)$/u,
  // Chosen anew at will, unlike a login.
  /(?:^|\.)(?:sender|user|member)\.name$/u,
  // Made of what is there: the numbers.
  /\.html_url$/u,
  // Of each event another.
  /\.(?:created|updated|closed)_at$/u,
  // Lists.
  /\.mentions$/u,
];

type Kind = 'number' | 'boolean' | 'string' | 'enum' | 'array';

/** Every field of a schema that is no object, by its path. */
function fieldsOf(schema: z.ZodType, path: readonly string[] = []): [string, Kind][] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return fieldsOf(schema.unwrap() as z.ZodType, path);
  }
  if (!(schema instanceof z.ZodObject)) return [[path.join('.'), schema.def.type as Kind]];
  return Object.entries(schema.shape).flatMap(([name, inner]) =>
    fieldsOf(inner as z.ZodType, [...path, name]),
  );
}

const FIELDS_OF_EVENTS = new Map(
  HOOK_EVENT_TYPES.map((type) => [type, new Map(fieldsOf(EVENT_SCHEMAS[type]))]),
);
const ALL_FIELDS = new Map([...FIELDS_OF_EVENTS.values()].flatMap((fields) => [...fields]));

test('each field of an event is one to filter on, or left out on purpose, and never both', () => {
  const undecided = [...ALL_FIELDS.keys()].filter((field) => {
    const listed = Object.hasOwn(FILTER_FIELDS, field);
    return listed === LEFT_OUT.some((pattern) => pattern.test(field));
  });
  expect(undecided).toEqual([]);
  expect(FILTER_FIELD_NAMES.filter((field) => !ALL_FIELDS.has(field))).toEqual([]);
});

test('a field is compared as what the schemas say it is', () => {
  const KIND_OF = {
    number: 'number',
    flag: 'boolean',
    login: 'string',
    line: 'string',
    text: 'string',
    state: 'enum',
  } as const;
  for (const [field, kind] of Object.entries(FILTER_FIELDS)) {
    expect({ field, is: KIND_OF[kind] }).toEqual({ field, is: ALL_FIELDS.get(field) });
  }
  expect(FILTER_STATES).toEqual([...THREAD_STATES]);
});

test('the events that hold a field are those of whose schema it is a part', () => {
  for (const field of FILTER_FIELD_NAMES) {
    const holding = HOOK_EVENT_TYPES.filter((type) => FIELDS_OF_EVENTS.get(type)?.has(field));
    expect({ field, holding: eventsWithField(field) }).toEqual({ field, holding });
    expect(holding.length).toBeGreaterThan(0);
  }
});

test('nothing is looked for inside of a long text', () => {
  expect(OPERATORS_OF.text).not.toContain('contains');
  expect(new Set(Object.values(OPERATORS_OF).flat())).toEqual(new Set(FILTER_OPERATORS));
});
