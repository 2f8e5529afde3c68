import { readFileSync } from 'node:fs';

import { type AnySchemaObject, Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';

const FIXTURE = new URL('../fixtures/github-api.json', import.meta.url);
/** So that no answer of GitHub's is read as one of Ghost's. */
const SCHEMA_ID = 'github';

interface GithubApi {
  source: { package: string; version: string; license: string };
  /** By `METHOD /path`, by status; null: the answer has no JSON. */
  routes: Record<string, Record<string, AnySchemaObject | null>>;
  components: { schemas: Record<string, AnySchemaObject> };
}

/** What a client asked and got, as it went over the wire. */
export interface Exchange {
  method: string;
  /** Below the API's base. */
  path: string;
  status: number;
  contentType: string | null;
  text: string;
}

/** Where an answer is not what GitHub publishes. */
export interface Finding {
  /** `GET /repos/{owner}/{repo}`; as GitHub names it. */
  route: string;
  status: number;
  /** `status`, `content-type`, `extra config.github_signature`, `required documentation_url`, `type owner.id`... */
  what: string;
}

export interface GithubSchema {
  /** Every route that the fixture knows. */
  routes: string[];
  /** Which of them was asked; undefined: none. */
  routeOf(exchange: Pick<Exchange, 'method' | 'path'>): string | undefined;
  /** Every way in which the answer differs from what GitHub publishes for that route and status. */
  compare(exchange: Exchange): Finding[];
}

/** GitHub's published answers (`scripts/github-schemas.mjs` says from where). */
export function readGithubSchema(): GithubSchema {
  const github = JSON.parse(readFileSync(FIXTURE, 'utf8')) as GithubApi;
  const ajv = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: SCHEMA_ID, components: github.components }, SCHEMA_ID);
  ajv.addKeyword('components');
  const validators = new Map<string, ValidateFunction>();
  const routes = Object.keys(github.routes);
  const patterns = routes.map((route) => ({ route, pattern: patternOf(route) }));

  function validatorOf(key: string, schema: AnySchemaObject): ValidateFunction {
    const known = validators.get(key);
    if (known !== undefined) return known;
    const made = ajv.compile(pointToFixture(schema));
    validators.set(key, made);
    return made;
  }

  const routeOf: GithubSchema['routeOf'] = ({ method, path }) =>
    patterns.find(({ pattern }) => pattern.test(`${method} ${path}`))?.route;

  return {
    routes,
    routeOf,
    compare({ method, path, status, contentType, text }) {
      const route = routeOf({ method, path });
      if (route === undefined) return [{ route: `${method} ${path}`, status, what: 'route' }];
      const found = (what: string): Finding => ({ route, status, what });
      const schema = github.routes[route]?.[String(status)];
      if (schema === undefined) return [found('status')];
      if (text === '' && contentType !== null) return [found('content-type')];
      if (schema === null) return text === '' ? [] : [found('body')];
      if (contentType?.toLowerCase() !== 'application/json; charset=utf-8') {
        return [found('content-type')];
      }
      const value: unknown = JSON.parse(text);
      const validate = validatorOf(`${status} ${route}`, schema);
      const faults = validate(value) ? [] : (validate.errors ?? []).map(describe);
      const extras = extraFields(github, schema, value);
      return [...new Set([...faults, ...extras.map((at) => `extra ${at}`)])].map(found);
    },
  };
}

/** A schema outside the fixture refers to what is in it. */
function pointToFixture(schema: AnySchemaObject): AnySchemaObject {
  const text = JSON.stringify(schema).replaceAll('"$ref":"#/', `"$ref":"${SCHEMA_ID}#/`);
  return JSON.parse(text) as AnySchemaObject;
}

function patternOf(route: string): RegExp {
  const escaped = route.replaceAll(/[.*+?^$()|[\]\\]/gu, String.raw`\$&`);
  return new RegExp(`^${escaped.replaceAll(/\{[^}]*\}/gu, '[^/]+')}$`, 'u');
}

function describe({ instancePath, keyword, params }: ErrorObject): string {
  const at = dotted(instancePath.split('/').slice(1));
  const missing: unknown = Reflect.get(params, 'missingProperty');
  const field = typeof missing === 'string' ? dotted([at, missing]) : at;
  return `${keyword} ${field === '' ? '(the whole)' : field}`;
}

/** Places in a list are all the same place. */
function dotted(steps: readonly string[]): string {
  return steps.filter((step) => step !== '' && !/^\d+$/u.test(step)).join('.');
}

/** Fields of a value that no alternative of its schema names; JSON Schema lets them pass. */
function extraFields(
  github: GithubApi,
  schema: AnySchemaObject,
  value: unknown,
  at: readonly string[] = [],
): string[] {
  if (Array.isArray(value)) {
    const items = partsOf(github, schema).flatMap((part) => (part['items'] ? [part['items']] : []));
    return value.flatMap((each) => extraFields(github, { anyOf: items }, each, at));
  }
  if (typeof value !== 'object' || value === null) return [];
  const parts = partsOf(github, schema);
  // An object without named fields is free to hold any.
  if (!parts.some((part) => part['properties'] !== undefined)) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const named = parts.flatMap((part) => part['properties']?.[name] ?? []);
    const here = [...at, name];
    if (named.length === 0) return [dotted(here)];
    return extraFields(github, { anyOf: named }, field, here);
  });
}

/** A schema with its references followed and its alternatives side by side. */
function partsOf(github: GithubApi, schema: AnySchemaObject): AnySchemaObject[] {
  const reference: unknown = schema['$ref'];
  if (typeof reference === 'string') {
    const target = github.components.schemas[reference.replace('#/components/schemas/', '')];
    return target === undefined ? [] : partsOf(github, target);
  }
  const inner = ['allOf', 'anyOf', 'oneOf'].flatMap((key) => schema[key] ?? []);
  return [schema, ...inner.flatMap((each: AnySchemaObject) => partsOf(github, each))];
}
