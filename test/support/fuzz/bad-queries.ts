import type { BadRequest } from './bad-request.js';
import { BAD_TIMES, TOO_LONG, UNKNOWN_FIELDS } from './bad-values.js';
import { type FuzzOperation, type FuzzWorld, type Json, queryOf } from './fuzz-world.js';

const BAD_CURSORS = [
  'x',
  '%00',
  'eDox',
  'eng6OQ',
  'Y29tbWVudHM6MA',
  '%F0%9F%8E%89',
  TOO_LONG.slice(0, 4000),
];

const BAD_NUMBERS = [
  ...['0', '101', '-1', 'x', '', '1e1', '0x10', '1.5', 'NaN', 'Infinity'],
  ...['9'.repeat(400), '%00'],
];

const BAD_CHOICES = ['no-such-thing', '', '%00', '__proto__', 'constructor'];

/** Parameters that are unknown, twice there, or of a value that they may not have. */
export function badQueries(world: FuzzWorld, at: FuzzOperation): BadRequest[] {
  const { method, template } = at;
  const parameters = queryOf(at);
  if (parameters.length === 0) return [];
  const bad = (name: string, query: string, field: string): BadRequest => ({
    name: `the query ${name}`,
    request: { method, path: `${world.pathOf(template)}?${query}` },
    status: [422],
    code: 'validation_failed',
    field,
  });
  return [
    ...parameters.flatMap((parameter) => {
      const { name } = parameter;
      return [
        ...badValues(parameter).map((value) =>
          bad(`${name}=${value.slice(0, 20)}`, `${name}=${value}`, name),
        ),
        bad(`${name} twice`, `${name}=1&${name}=2`, name),
      ];
    }),
    ...UNKNOWN_FIELDS.filter((name) => name !== '').map((name) => bad(name, `${name}=1`, name)),
  ];
}

/** As they stand in a URL; a parameter that is any text has none. */
function badValues({ name, schema }: Json): readonly string[] {
  if (name === 'after' || name === 'cursor') return BAD_CURSORS;
  if (schema.type === 'integer') return BAD_NUMBERS;
  if (schema.format === 'date-time') return [...BAD_CHOICES, ...BAD_TIMES.map(encodeURIComponent)];
  const free = schema.type === 'string' && schema.enum === undefined && schema.format === undefined;
  return free ? [] : BAD_CHOICES;
}
