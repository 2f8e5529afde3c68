import { readFileSync } from 'node:fs';

import { BEHAVIOUR_DIFFERENCES, SHAPE_DIFFERENCES } from '../e2e/github-differences.js';

const DOC = new URL('../../docs/api.md', import.meta.url);
const OPENAPI = new URL('../../apps/api/openapi.json', import.meta.url);

interface Operation {
  summary: string;
  security: readonly { token?: readonly string[] }[];
}
type Paths = Record<string, Record<string, Operation>>;

/** What stands in docs/api.md between `<!-- name: … -->` and `<!-- /name -->`. */
export function partOfApiDoc(name: string): string {
  const part = partPattern(name).exec(readFileSync(DOC, 'utf8'))?.[2];
  if (part === undefined) throw new Error(`docs/api.md has no part called ${name}`);
  return part;
}

/** docs/api.md as it should be: with the parts that the code and the tests know better. */
export function apiDocWithParts(): string {
  const parts = {
    routes: routesMarkdown(),
    behaviours: behaviourDifferencesMarkdown(),
    shapes: shapeDifferencesMarkdown(),
  };
  return Object.entries(parts).reduce(
    (text, [name, part]) => {
      const pattern = partPattern(name);
      if (!pattern.test(text)) throw new Error(`docs/api.md has no part called ${name}`);
      return text.replace(pattern, (_all, start: string, _old, end: string) => {
        return `${start}${part}\n${end}`;
      });
    },
    readFileSync(DOC, 'utf8'),
  );
}

function partPattern(name: string): RegExp {
  return new RegExp(`(<!-- ${name}:.*-->\\n)([^]*?)(<!-- /${name} -->)`, 'u');
}

/** Every route of apps/api/openapi.json: what a token must hold for it, and what it does. */
function routesMarkdown(): string {
  const { paths } = JSON.parse(readFileSync(OPENAPI, 'utf8')) as { paths: Paths };
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { security, summary }]) => [
      `\`${method.toUpperCase()} ${path}\``,
      needs(security),
      summary,
    ]),
  );
  return table(['route', 'token', 'what'], rows);
}

function needs(security: Operation['security']): string {
  const scopes = security.flatMap(({ token }) => token ?? []);
  if (security.length === 0) return 'none';
  if (scopes.length === 0) return 'any';
  const optional = security.some(({ token }) => token === undefined);
  return `\`${scopes.join('`, `')}\`${optional ? ', or none' : ''}`;
}

function shapeDifferencesMarkdown(): string {
  return table(
    ['what Ghost answers', 'why'],
    SHAPE_DIFFERENCES.map(({ ghost, why }) => [ghost, why]),
  );
}

function behaviourDifferencesMarkdown(): string {
  return table(
    ['what Ghost does', 'what GitHub does', 'why'],
    Object.values(BEHAVIOUR_DIFFERENCES).map(({ ghost, github, why }) => [ghost, github, why]),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}
