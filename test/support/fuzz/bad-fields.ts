import type { BadRequest } from './bad-request.js';
import { BAD_TIMES, TOO_LONG, UNKNOWN_FIELDS } from './bad-values.js';
import { fieldsOf, formatsOf, typesOf } from './body-fields.js';
import type { FuzzOperation, FuzzWorld, Json } from './fuzz-world.js';
import { validBody, withField } from './good-body.js';

/** Good bodies but for one field: unknown, missing, or of a value that it may not have. */
export function badFields(world: FuzzWorld, at: FuzzOperation): BadRequest[] {
  const { method, template } = at;
  const schema = at.body;
  if (schema?.type !== 'object') return [];
  const path = world.pathOf(template);
  const base = validBody(at) ?? {};
  const bad = (name: string, body: unknown, field: string): BadRequest => ({
    name,
    request: { method, path, body: typeof body === 'string' ? body : JSON.stringify(body) },
    status: [422],
    code: 'validation_failed',
    field,
  });
  const found = UNKNOWN_FIELDS.map((field) =>
    bad(`the unknown field "${field}"`, withField(base, [field], 1, schema), field),
  );
  for (const { steps, schema: field, required } of fieldsOf(schema)) {
    const name = steps.join('.');
    if (required) found.push(bad(`no ${name}`, withField(base, steps, undefined, schema), name));
    for (const [what, value] of wrongValues(field)) {
      found.push(bad(`${what} as ${name}`, withField(base, steps, value, schema), name));
    }
    if (typesOf(field).has('integer')) {
      const marker = '"§"';
      const text = JSON.stringify(withField(base, steps, '§', schema));
      found.push(bad(`1e999 as ${name}`, text.replace(marker, '1e999'), name));
    }
  }
  return found;
}

function wrongValues(schema: Json): [name: string, value: unknown][] {
  const types = typesOf(schema);
  const values: [string, unknown][] = [];
  if (!types.has('object')) values.push(['an object', { a: 1 }]);
  if (!types.has('array')) values.push(['a list', [1]]);
  if (!types.has('boolean')) values.push(['true', true]);
  if (!types.has('integer') && !types.has('number')) values.push(['a number', 1234.5]);
  if (!types.has('null')) values.push(['null', null]);
  if (types.has('string')) {
    values.push(['300,000 letters', TOO_LONG], ['NUL', 'a\0b']);
  } else {
    values.push(['a text', 'no-such-text']);
  }
  if (formatsOf(schema).has('date-time')) {
    for (const time of BAD_TIMES) values.push([time, time]);
  }
  if (types.has('choice'))
    values.push(['no such choice', 'no-such-choice'], ['a prototype name', '__proto__']);
  if (types.has('integer')) values.push(['-1', -1], ['2^60', 2 ** 60], ['a fraction', 1.5]);
  if (types.has('array'))
    values.push(
      ['a list of lists', [[[]]]],
      ['10,000 objects', Array.from({ length: 10_000 }, () => ({}))],
    );
  return values;
}
