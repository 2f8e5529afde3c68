import * as fc from 'fast-check';

import { fieldsOf } from './body-fields.js';
import {
  type FuzzOperation,
  type FuzzRequest,
  type FuzzWorld,
  parametersOf,
  queryOf,
} from './fuzz-world.js';
import { validBody } from './good-body.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const NASTY_TEXTS = [
  '',
  ' ',
  '0',
  '-1',
  '1',
  '1e3',
  '9'.repeat(20),
  '\0',
  '\ud800',
  'a\udfff',
  '__proto__',
  'constructor',
  'toString',
  '../..',
  "' OR 1=1 --",
  '${7*7}',
  '\r\nx: y',
  '\u202e',
  '🎉',
  'é'.normalize('NFD'),
  'a'.repeat(300),
  'https://hooks.example/x',
  'ada',
  'bob',
  '@bob',
  'engine',
  'ada@elsewhere.example',
];
const NASTY_NUMBERS = [0, -0, -1, 1, 1.5, 2 ** 31, 2 ** 53, 2 ** 63, 1e308, Number.MIN_VALUE];
const HEADERS: Readonly<Record<string, readonly string[]>> = {
  accept: ['*/*', 'text/html', 'application/vnd.github+json', 'nonsense', ''],
  'content-type': [
    'application/json',
    'application/json; charset=utf-8',
    'application/json; charset=latin1',
    'application/x-www-form-urlencoded',
    'text/plain',
    'a/b; c="d',
  ],
  'if-match': ['*', '"a"', 'W/"a"', 'x', '"a", "b"'],
  'if-none-match': ['*', '"a"', 'x', '"'.repeat(500)],
  'x-forwarded-for': ['1.2.3.4', '::1', 'x', '1.2.3.4, 5.6.7.8'],
  'x-http-method-override': ['DELETE'],
  'content-encoding': ['identity', 'gzip', 'br'],
  range: ['bytes=0-1', 'x'],
  cookie: ['a=b; __proto__=c'],
  'x-request-id': ['a'.repeat(200)],
};

const text = fc.oneof(
  fc.constantFrom(...NASTY_TEXTS),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ maxLength: 20 }),
);

/** Requests to all routes: mostly to what is there, with something in them that nobody expects. */
export function randomRequest(world: FuzzWorld): fc.Arbitrary<FuzzRequest> {
  return fc.constantFrom(...world.operations).chain((at) => {
    const method = fc.oneof(
      { weight: 12, arbitrary: fc.constant(at.method) },
      { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
    );
    return fc
      .record({
        method,
        path: pathOf(world, at),
        query: queryTextOf(at),
        headers,
        body: bodyOf(at),
      })
      .map(({ method: asked, path, query, headers: given, body }) => ({
        method: asked,
        path: `${path}${query}`,
        headers: given,
        ...(body === undefined || ['GET', 'HEAD', 'OPTIONS'].includes(asked) ? {} : { body }),
      }));
  });
}

function pathOf(world: FuzzWorld, { template }: FuzzOperation): fc.Arbitrary<string> {
  const names = parametersOf(template);
  const parts = Object.fromEntries(
    names.map((name) => [
      name,
      fc.option(
        // A part that is "." or ".." goes away in every URL, encoded too (WHATWG URL, 4.4): another route is asked.
        text
          .filter((value) => value !== '.' && value !== '..')
          .map((value) => encodeURIComponent(value.toWellFormed())),
        { freq: 8 - names.length, nil: undefined },
      ),
    ]),
  );
  // One in `freq` is kept: what the world has is asked for when nothing else is said.
  return fc
    .record(parts)
    .map((given) =>
      world.pathOf(
        template,
        Object.fromEntries(
          Object.entries(given).filter(
            (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
          ),
        ),
      ),
    );
}

function queryTextOf(at: FuzzOperation): fc.Arbitrary<string> {
  const known = queryOf(at).map(({ name }) => String(name));
  const pair = fc
    .tuple(fc.oneof(fc.constantFrom(...known, 'per_page', 'page'), text), text)
    .map(([name, value]) =>
      [name, value].map((part) => encodeURIComponent(part.toWellFormed())).join('='),
    );
  const raw = fc.constantFrom(
    '?',
    '?&&',
    '?=',
    '?%',
    '?a[b]=c',
    '?%00=%00',
    `?${'a&'.repeat(2000)}`,
  );
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant('') },
    {
      weight: 3,
      arbitrary: fc.array(pair, { minLength: 1, maxLength: 4 }).map((all) => `?${all.join('&')}`),
    },
    { weight: 1, arbitrary: raw },
  );
}

const headers: fc.Arbitrary<Record<string, string>> = fc
  .array(
    fc
      .constantFrom(...Object.keys(HEADERS))
      .chain((name) => fc.constantFrom(...(HEADERS[name] ?? [])).map((value) => [name, value])),
    { maxLength: 2 },
  )
  .map((pairs) => Object.fromEntries(pairs));

function bodyOf(at: FuzzOperation): fc.Arbitrary<string | Buffer | undefined> {
  const nasty = fc.oneof(
    text,
    fc.constantFrom<unknown>(...NASTY_NUMBERS, null, true, false, [], {}, [[]], [null]),
    fc.array(text, { maxLength: 3 }),
    fc.jsonValue({ maxDepth: 3 }),
  );
  const names =
    at.body?.type === 'object' ? fieldsOf(at.body).map(({ steps }) => steps[0] ?? '') : [];
  const fields = fc
    .array(fc.tuple(fc.constantFrom(...names, 'zzz', '__proto__'), nasty), { maxLength: 3 })
    .map((pairs) => JSON.stringify({ ...validBody(at), ...Object.fromEntries(pairs) }));
  return fc.oneof(
    { weight: 6, arbitrary: fields },
    { weight: 1, arbitrary: fc.constant(JSON.stringify(validBody(at) ?? {})) },
    { weight: 1, arbitrary: fc.json({ maxDepth: 4 }) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
}

/**
 * Sends random requests; each answer must be one that the document declares, and none a 5xx.
 * @returns how many of each class of status came, for a look at what was reached
 * @throws Error with the seed and the smallest request that fails
 */
export async function sendRandomRequests(
  world: FuzzWorld,
  { count, seed }: { count: number; seed: number },
): Promise<Record<string, number>> {
  const seen: Record<string, number> = {};
  await fc.assert(
    fc.asyncProperty(randomRequest(world), async (asked) => {
      const { status } = await world.send(asked);
      const kind = `${Math.floor(status / 100)}xx`;
      seen[kind] = (seen[kind] ?? 0) + 1;
    }),
    { numRuns: count, seed, endOnFailure: false },
  );
  return seen;
}
