import type { FuzzOperation, FuzzRequest, FuzzWorld, Json } from './fuzz-world.js';

/** A request that is wrong on purpose. */
export interface BadRequest {
  readonly name: string;
  readonly request: FuzzRequest;
  /** What it must be answered with. */
  readonly status: readonly number[];
  readonly code?: string;
  /** One of the errors must name this field, or something in it. */
  readonly field?: string;
}

const ALL_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const MIB = 1_048_576;
/** More than any text may hold; small enough to be sent a thousand times. */
const TOO_LONG = 'a'.repeat(300_000);
const DEEP = 100_000;

const BAD_PATH_PARTS: readonly [name: string, part: string, status: readonly number[]][] = [
  ['zero', '0', [404, 422]],
  ['a negative number', '-1', [404, 422]],
  ['an exponent', '1e3', [404, 422]],
  ['a number of 20 digits', '9'.repeat(20), [404, 422]],
  ['a number of 400 digits', '9'.repeat(400), [404]],
  ['NUL', '%00', [404, 422]],
  ['a path out', '..%2f..%2fetc', [404, 422]],
  ['a quote', '%27%20OR%201=1--', [404, 422]],
  ['a prototype name', '__proto__', [404, 422]],
  ['another prototype name', 'constructor', [404, 422]],
  ['an emoji', '%F0%9F%8E%89', [404, 422]],
  ['a cut emoji', '%F0%9F', [400]],
  ['a lone %', '%', [400]],
];

const BAD_BODIES: readonly [name: string, body: string | Buffer, code: string][] = [
  ['a cut object', '{"a":', 'bad_json'],
  ['two objects', '{}{}', 'bad_json'],
  ['an object and a brace', '{}}', 'bad_json'],
  ['no JSON', 'name=engine', 'bad_json'],
  ['blanks alone', '  \n ', 'bad_json'],
  ['many open lists', '['.repeat(MIB - 1), 'too_deep'],
  ['a deep list', `${'['.repeat(DEEP)}${']'.repeat(DEEP)}`, 'too_deep'],
  ['a prototype', '{"__proto__":{"private":true}}', 'bad_json'],
  ['a constructor', '{"constructor":{"prototype":{}}}', 'bad_json'],
  ['NUL in a text', '{"a":"\0"}', 'bad_json'],
  ['no UTF-8', Buffer.from('{"a":"\xe9"}', 'latin1'), 'bad_encoding'],
  [
    'a cut character',
    Buffer.from([0x7b, 0x22, 0xf0, 0x9f, 0x22, 0x3a, 0x31, 0x7d]),
    'bad_encoding',
  ],
];

const BAD_TYPES: readonly [name: string, headers: Record<string, string>][] = [
  ['plain text', { 'content-type': 'text/plain' }],
  ['no type', { 'content-type': '' }],
  ['nonsense', { 'content-type': '///' }],
  ['XML', { 'content-type': 'application/xml' }],
  ['another charset', { 'content-type': 'application/json; charset=iso-8859-1' }],
  ['UTF-16', { 'content-type': 'application/json;charset="utf-16"' }],
  ['gzip', { 'content-type': 'application/json', 'content-encoding': 'gzip' }],
];

const UNKNOWN_FIELDS = ['zzz_unknown', 'constructor', 'toString', 'hasOwnProperty', ''];

const BAD_CURSORS = [
  'x',
  '%00',
  'eDox',
  'eng6OQ',
  'Y29tbWVudHM6MA',
  '%F0%9F%8E%89',
  TOO_LONG.slice(0, 4000),
];

/** No moments, or moments that neither Postgres nor an answer could write: an offset can lead there. */
const BAD_TIMES = [
  '9999-12-31T23:59:59-23:59',
  '0000-01-01T00:00:00Z',
  '0000-01-01T00:00:00+23:59',
  '0001-01-01T00:00:00+00:01',
  '2027-01-31T12:00:00',
  '2027-02-30T12:00:00Z',
  '2027-01-31',
];

/** Every kind of bad input for one operation. */
export function badRequests(world: FuzzWorld, at: FuzzOperation): BadRequest[] {
  return [
    ...badPaths(world, at),
    ...badMethods(world, at),
    ...badQueries(world, at),
    ...badBodies(world, at),
    ...badFields(world, at),
    ...badHeaders(world, at),
  ];
}

function badPaths(world: FuzzWorld, at: FuzzOperation): BadRequest[] {
  const { method, template } = at;
  const names = [...template.matchAll(/\{(\w+)\}/gu)].map((found) => found[1] ?? '');
  const body = validBody(at);
  return names.flatMap((name) =>
    BAD_PATH_PARTS.map(([what, part, status]) => ({
      name: `${what} as {${name}}`,
      request: { method, path: world.pathOf(template, { [name]: part }), ...withBody(body) },
      status,
    })),
  );
}

function badMethods(world: FuzzWorld, at: FuzzOperation): BadRequest[] {
  const { template } = at;
  const taken = new Set(
    world.operations.filter((other) => other.template === template).map((other) => other.method),
  );
  return ALL_METHODS.filter((method) => !taken.has(method)).map((method) => ({
    name: `the method ${method}`,
    request: { method, path: world.pathOf(template) },
    status: [405],
    code: 'method_not_allowed',
  }));
}

function badQueries(world: FuzzWorld, at: FuzzOperation): BadRequest[] {
  const { method, template, operation } = at;
  const parameters: Json[] = (operation.parameters ?? []).filter(
    (found: Json) => found.in === 'query',
  );
  if (parameters.length === 0) return [];
  const bad = (name: string, query: string, field: string): BadRequest => ({
    name: `the query ${name}`,
    request: { method, path: `${world.pathOf(template)}?${query}` },
    status: [422],
    code: 'validation_failed',
    field,
  });
  return parameters
    .flatMap((parameter) => {
      const { name, schema } = parameter;
      const values =
        name === 'after'
          ? BAD_CURSORS
          : schema.type === 'integer'
            ? [
                '0',
                '101',
                '-1',
                'x',
                '',
                '1e1',
                '0x10',
                '1.5',
                'NaN',
                'Infinity',
                '9'.repeat(400),
                '%00',
              ]
            : [
                ...['no-such-thing', '', '%00', '__proto__', 'constructor'],
                ...(schema.format === 'date-time' ? BAD_TIMES.map(encodeURIComponent) : []),
              ];
      const free =
        schema.enum === undefined &&
        schema.format === undefined &&
        schema.type === 'string' &&
        name !== 'after';
      return [
        ...(free
          ? []
          : values.map((value) => bad(`${name}=${value.slice(0, 20)}`, `${name}=${value}`, name))),
        bad(`${name} twice`, `${name}=1&${name}=2`, name),
      ];
    })
    .concat(
      UNKNOWN_FIELDS.filter((name) => name !== '').map((name) => bad(name, `${name}=1`, name)),
    );
}

function badBodies(world: FuzzWorld, at: FuzzOperation): BadRequest[] {
  const { method, template } = at;
  if (method === 'GET') return [];
  const path = world.pathOf(template);
  // Pages take forms, unread, and JSON too: what they say of it is in the document.
  const takesJson = at.body !== undefined;
  return [
    ...BAD_BODIES.map(
      ([name, body, code]): BadRequest => ({
        name: `the body ${name}`,
        request: { method, path, body },
        status: [400],
        code,
      }),
    ),
    ...BAD_TYPES.map(
      ([name, headers]): BadRequest => ({
        name: `a body of ${name}`,
        request: { method, path, body: '{}', headers },
        status: [415],
        code: 'unsupported_media_type',
      }),
    ),
    {
      name: 'a body of more than 1 MiB',
      request: { method, path, body: JSON.stringify({ a: 'a'.repeat(MIB) }) },
      status: [413],
      code: 'body_too_large',
    },
    ...(takesJson && at.body.type === 'object'
      ? ['[]', '[{}]', '1', '"text"', 'true'].map(
          (body): BadRequest => ({
            name: `the body ${body}`,
            request: { method, path, body },
            // Some bodies may be lists as well, whose items are then at fault.
            status: [400, 422],
          }),
        )
      : []),
  ];
}

function badFields(world: FuzzWorld, at: FuzzOperation): BadRequest[] {
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

function badHeaders(world: FuzzWorld, at: FuzzOperation): BadRequest[] {
  const { method, template, operation } = at;
  const path = world.pathOf(template);
  const body = validBody(at);
  const found: BadRequest[] = [];
  const parameters: Json[] = operation.parameters ?? [];
  if (parameters.some((parameter) => String(parameter.$ref).endsWith('/IfMatch'))) {
    for (const tag of ['x', '"unclosed', 'W/', '"a" "b"', '"a",x', '']) {
      found.push({
        name: `If-Match: ${tag}`,
        request: { method, path, headers: { 'if-match': tag }, ...withBody(body) },
        status: [400],
        code: 'bad_if_match',
      });
    }
    for (const tag of ['"nope"', 'W/"nope"', '"a", "b"']) {
      found.push({
        name: `If-Match: ${tag}`,
        request: { method, path, headers: { 'if-match': tag }, ...withBody(body) },
        status: [412],
        code: 'precondition_failed',
      });
    }
  }
  if ((operation.security ?? []).length > 0) {
    for (const authorization of [
      'Bearer x',
      'Bearer',
      'Basic eDp4',
      '',
      `Bearer ${'x'.repeat(4000)}`,
    ]) {
      found.push({
        name: `Authorization: ${authorization.slice(0, 20)}`,
        request: { method, path, headers: { authorization }, ...withBody(body) },
        status: [401],
        code: 'bad_credentials',
      });
    }
  }
  return found;
}

interface Field {
  readonly steps: readonly string[];
  readonly schema: Json;
  readonly required: boolean;
}

/** The fields that a body has, and those of objects in it; not those that mean nothing and take anything. */
export function fieldsOf(schema: Json, above: readonly string[] = []): Field[] {
  return Object.entries<Json>(schema.properties ?? {}).flatMap(([name, property]) => {
    if (typesOf(property).size === 0) return [];
    const steps = [...above, name];
    const field = { steps, schema: property, required: (schema.required ?? []).includes(name) };
    return property.type === 'object' ? [field, ...fieldsOf(property, steps)] : [field];
  });
}

function typesOf(schema: Json): Set<string> {
  const variants: Json[] = schema.anyOf ?? schema.oneOf ?? [schema];
  return new Set(
    variants.flatMap((variant) =>
      variant.enum !== undefined || variant.const !== undefined
        ? ['choice', ...(variant.type === undefined ? [] : [variant.type].flat())]
        : [variant.type ?? []].flat(),
    ),
  );
}

function formatsOf(schema: Json): Set<string> {
  const variants: Json[] = schema.anyOf ?? schema.oneOf ?? [schema];
  return new Set(variants.flatMap(({ format }) => format ?? []));
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

function withBody(body: unknown): { body?: string } {
  return body === undefined ? {} : { body: JSON.stringify(body) };
}

/** @param schema - of `base`: objects that it lacks are made with what they must hold */
function withField(
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
