import type { BadRequest } from './bad-request.js';
import type { FuzzOperation, FuzzWorld } from './fuzz-world.js';

const MIB = 1_048_576;
const DEEP = 100_000;

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

/** Bodies that are not read: by their bytes, type, size or depth; and values that are no object. */
export function badBodies(world: FuzzWorld, at: FuzzOperation): BadRequest[] {
  const { method, template } = at;
  if (method === 'GET') return [];
  const path = world.pathOf(template);
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
    ...(at.body?.type === 'object'
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
