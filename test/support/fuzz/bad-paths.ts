import type { BadRequest } from './bad-request.js';
import { type FuzzOperation, type FuzzWorld, parametersOf } from './fuzz-world.js';
import { validBody, withBody } from './good-body.js';

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

const ALL_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Each parameter of the path, badly filled. */
export function badPaths(world: FuzzWorld, at: FuzzOperation): BadRequest[] {
  const { method, template } = at;
  const body = validBody(at);
  return parametersOf(template).flatMap((name) =>
    BAD_PATH_PARTS.map(([what, part, status]) => ({
      name: `${what} as {${name}}`,
      request: { method, path: world.pathOf(template, { [name]: part }), ...withBody(body) },
      status,
    })),
  );
}

/** The methods that the path does not take. */
export function badMethods(world: FuzzWorld, at: FuzzOperation): BadRequest[] {
  const { template } = at;
  // A fixed name where another route has a parameter (`replays/preview`) is that route's for its methods.
  const taken = new Set(
    world.operations
      .filter((other) => covers(other.template, template))
      .map(({ method }) => method),
  );
  return ALL_METHODS.filter((method) => !taken.has(method)).map((method) => ({
    name: `the method ${method}`,
    request: { method, path: world.pathOf(template) },
    status: [405],
    code: 'method_not_allowed',
  }));
}

/** Whether every path of one template is one of the other's, too. */
function covers(other: string, template: string): boolean {
  const [parts, names] = [other.split('/'), template.split('/')];
  return (
    parts.length === names.length &&
    parts.every((part, index) => part === names[index] || part.startsWith('{'))
  );
}
