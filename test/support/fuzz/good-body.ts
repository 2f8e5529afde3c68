import type { FuzzOperation, Json } from './fuzz-world.js';

/** What a body must hold, with values that are good. */
export function validBody({ body }: FuzzOperation): Record<string, unknown> | undefined {
  return body?.type === 'object' ? (validValue(body, '') as Record<string, unknown>) : undefined;
}

const GOOD: Readonly<Record<string, unknown>> = {
  name: 'made-by-fuzz',
  url: 'https://hooks.example/x',
  email: 'ada@elsewhere.example',
  emails: ['ada@elsewhere.example'],
  title: 'A title',
  body: 'A text',
  label: 'A label',
  scopes: ['repo'],
};

function validValue(schema: Json, name: string): unknown {
  if (Object.hasOwn(GOOD, name)) return GOOD[name];
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.anyOf !== undefined) return validValue(schema.anyOf[0], name);
  switch ([schema.type].flat()[0]) {
    case 'object':
      return Object.fromEntries(
        (schema.required ?? []).map((field: string) => [
          field,
          validValue(schema.properties[field], field),
        ]),
      );
    case 'array':
      return [];
    case 'integer':
      return 1;
    case 'boolean':
      return true;
    default:
      return 'text';
  }
}

/** As a part of a request. */
export function withBody(body: unknown): { body?: string } {
  return body === undefined ? {} : { body: JSON.stringify(body) };
}

/**
 * A body with one of its fields set, or left out for `undefined`.
 * @param schema - of `base`: objects that it lacks are made with what they must hold
 */
export function withField(
  base: Record<string, unknown>,
  steps: readonly string[],
  value: unknown,
  schema: Json,
): Record<string, unknown> {
  const [step = '', ...rest] = steps;
  if (rest.length === 0) {
    const copy: Record<string, unknown> = { ...base };
    if (value === undefined) delete copy[step];
    else copy[step] = value;
    return copy;
  }
  const property: Json = schema.properties[step];
  const inner = (base[step] ?? validValue(property, step)) as Record<string, unknown>;
  return { ...base, [step]: withField(inner, rest, value, property) };
}
