#!/usr/bin/env node
// Takes from GitHub's published OpenAPI document what the tests compare Ghost's answers with: for each
// route that both have, the statuses and the schemas of the answers, as JSON Schema, without any prose.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HELP = `Usage: node scripts/github-schemas.mjs PATH/TO/api.github.com.json

Writes test/fixtures/github-api.json: for each route of apps/api/openapi.json that GitHub has too, the
schemas of its answers. Run it when Ghost gets a route of GitHub's, or to follow a newer version.

The document is in the npm package @octokit/openapi, which is too large for a dependency (385 MB
unpacked). Take the one file out of it, with the licence:

  npm pack @octokit/openapi@23.0.2
  tar xzf octokit-openapi-23.0.2.tgz package/package.json package/LICENSE \\
    package/generated/api.github.com.json
  node scripts/github-schemas.mjs package/generated/api.github.com.json
`;

const root = fileURLToPath(new URL('..', import.meta.url));
const GHOST = join(root, 'apps/api/openapi.json');
const FIXTURE = join(root, 'test/fixtures/github-api.json');
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const JSON_TYPE = 'application/json';
/** Of each schema: what says nothing about whether a value fits, or what ajv does not know. */
const DROPPED = new Set([
  'title',
  'description',
  'example',
  'examples',
  'externalDocs',
  'deprecated',
  'readOnly',
  'writeOnly',
  'default',
  'nullable',
  'discriminator',
  'xml',
]);
const REFERENCE = '#/components/schemas/';

/** One schema of OpenAPI 3.0 as JSON Schema: `nullable` becomes a type, references stay. */
function toJsonSchema(schema, used) {
  // OpenAPI 3.0 ignores what stands beside a reference.
  if (schema.$ref !== undefined) {
    if (!schema.$ref.startsWith(REFERENCE)) throw new Error(`Cannot follow ${schema.$ref}`);
    used.add(schema.$ref.slice(REFERENCE.length));
    return { $ref: schema.$ref };
  }
  const made = {};
  for (const [key, value] of Object.entries(schema)) {
    if (DROPPED.has(key) || key.startsWith('x-')) continue;
    // It goes without saying, and GitHub says it of a string too, which ajv refuses.
    if (key === 'additionalProperties' && value === true) continue;
    made[key] = convertKeyword(key, value, used);
  }
  return schema.nullable === true ? orNull(made) : made;
}

function convertKeyword(key, value, used) {
  switch (key) {
    case 'properties':
    case 'patternProperties':
      return Object.fromEntries(
        Object.entries(value).map(([name, each]) => [name, toJsonSchema(each, used)]),
      );
    case 'allOf':
    case 'anyOf':
    case 'oneOf':
      return value.map((each) => toJsonSchema(each, used));
    case 'items':
    case 'not':
    case 'additionalProperties':
      return typeof value === 'boolean' ? value : toJsonSchema(value, used);
    default:
      return value;
  }
}

function orNull(schema) {
  if (schema.type === undefined) return { anyOf: [schema, { type: 'null' }] };
  const { enum: names } = schema;
  return {
    ...schema,
    type: [schema.type, 'null'],
    ...(names === undefined || names.includes(null) ? {} : { enum: [...names, null] }),
  };
}

/** Names of parameters differ: a route is its method and path without them. */
function shapeOf(path) {
  return path.replace(/\{[^}]*\}/gu, '{}');
}

function routesOfGhost(document) {
  const routes = new Set();
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      if (operations[method] !== undefined) {
        routes.add(`${method} ${shapeOf(path.replace(/^\/api(?=\/)/u, ''))}`);
      }
    }
  }
  return routes;
}

function answersOf(github, operation, used) {
  const answers = {};
  for (const [status, given] of Object.entries(operation.responses)) {
    const name = given.$ref?.replace('#/components/responses/', '');
    const answer = name === undefined ? given : github.components.responses[name];
    const schema = answer.content?.[JSON_TYPE]?.schema;
    answers[status] = schema === undefined ? null : toJsonSchema(schema, used);
  }
  return answers;
}

function extract(github, ghost, source) {
  const wanted = routesOfGhost(ghost);
  const used = new Set();
  const routes = {};
  for (const [path, operations] of byName(github.paths)) {
    for (const method of METHODS) {
      if (operations[method] === undefined || !wanted.has(`${method} ${shapeOf(path)}`)) continue;
      routes[`${method.toUpperCase()} ${path}`] = answersOf(github, operations[method], used);
    }
  }
  const schemas = {};
  // The set grows while it is walked: a schema's own references are appended.
  for (const name of used) schemas[name] = toJsonSchema(github.components.schemas[name], used);
  return { source, routes, components: { schemas: Object.fromEntries(byName(schemas)) } };
}

function byName(entries) {
  return Object.entries(entries).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** A line for each route and schema, so that a newer version shows as what changed in GitHub's. */
function linesOf({ source, routes, components }) {
  const lines = (entries) =>
    Object.entries(entries)
      .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
      .join(',\n');
  return `{
"source": ${JSON.stringify(source)},
"routes": {
${lines(routes)}
},
"components": { "schemas": {
${lines(components.schemas)}
} }
}
`;
}

function main([path]) {
  if (path === undefined || path === '--help' || path === '-h') {
    process.stdout.write(HELP);
    return path === undefined ? 1 : 0;
  }
  const github = JSON.parse(readFileSync(path, 'utf8'));
  const pack = JSON.parse(readFileSync(join(dirname(path), '../package.json'), 'utf8'));
  const licence = readFileSync(join(dirname(path), '../LICENSE'), 'utf8');
  const ghost = JSON.parse(readFileSync(GHOST, 'utf8'));
  const fixture = extract(github, ghost, {
    package: pack.name,
    version: pack.version,
    file: 'generated/api.github.com.json',
    license: pack.license,
    // The licence asks to be kept with what is taken.
    notice: licence.trim(),
  });
  writeFileSync(FIXTURE, linesOf(fixture));
  process.stdout.write(
    `${Object.keys(fixture.routes).length} routes, ${Object.keys(fixture.components.schemas).length} schemas: ${FIXTURE}\n`,
  );
  return 0;
}

process.exitCode = main(process.argv.slice(2));
