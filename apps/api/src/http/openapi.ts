import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';

import { type DeclaredRoute, declaredRoutes } from './declared-routes.js';
import { ERROR_SCHEMAS, errorAnswers, SHARED_ANSWERS } from './openapi-errors.js';
import { answerHeaders, SHARED_HEADERS, SHARED_PARAMETERS } from './openapi-headers.js';
import { TOKEN_SECURITY } from './route.js';

/** Where the document is served, below the API's prefix. */
export const OPENAPI_PATH = 'openapi.json';

const DESCRIPTION = [
  'Repositories with threads of comments, people who watch them, and hooks that hear of them. Where GitHub has the same thing, path and shape are GitHub’s, so that its clients work with another base URL.',
  'Bodies are JSON in UTF-8, at most 1 MiB; so are answers, whatever `Accept` asks for. Unknown fields of a body or a query are refused by name; fields of GitHub that mean nothing here are accepted and do nothing. Lists hold 30 items, or `per_page` up to 100, fewer when they would be longer than 1 MiB, and the `Link` header leads to what follows.',
  'Every error has a stable `code`, a sentence for people, and for a 422 the fields that are at fault. A path that exists answers 405 to a method that it does not take, and names those that it does in `Allow`; HEAD works where GET does. What one may not see answers as what does not exist: 404.',
].join('\n\n');

const TOKEN_DESCRIPTION =
  'A token, as `Authorization: Bearer T` or `token T`. It holds scopes, of which none includes another: `repo` (repositories, threads, comments, watching), `hooks` (hooks), `admin` (what decides on access). Each route names the one that it needs.';

/** Where a controller is not a subject of its own. */
const TAG_OF_CONTROLLER: Readonly<Record<string, string>> = {
  Deliveries: 'Hooks',
  Replays: 'Hooks',
  MailChoices: 'Subscriptions',
  RepositoryLists: 'Repositories',
  ThreadSubscriptions: 'Subscriptions',
  HookEvents: 'Hooks',
  Undelivered: 'Hooks',
  User: 'Users',
  VerifyAddress: 'Emails',
};
const TAGS: Readonly<Record<string, string>> = {
  Users: 'Accounts, and the one that the token belongs to.',
  Emails: 'The addresses of an account; only a verified one gets mail.',
  Tokens: 'The tokens of an account.',
  Repositories: 'Repositories: private unless made public.',
  Collaborators: 'Who may do what in a repository.',
  Subscriptions: 'Who hears of what happens in a repository or a thread.',
  Threads: 'Threads of a repository.',
  Comments: 'Comments of a thread.',
  Hooks: 'Where events of a repository are posted to.',
  Unsubscribe: 'Where the links of mails lead: pages for people.',
  MailEvents: 'Bounces and complaints, from the mail server that gets them.',
  Status: 'For whoever runs the process.',
  Document: 'This document.',
};

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** The OpenAPI 3.1 document of the application: made from the routes' own schemas, so the two cannot differ. */
export function openApiDocument(app: NestFastifyApplication, publicUrl: string): OpenAPIObject {
  const made = SwaggerModule.createDocument(
    app,
    new DocumentBuilder()
      .setOpenAPIVersion('3.1.0')
      .addSecurity(TOKEN_SECURITY, {
        type: 'http',
        scheme: 'bearer',
        description: TOKEN_DESCRIPTION,
      })
      .build(),
  );
  const routes = declaredRoutes(app);
  const used = new Set<string>();
  for (const item of Object.values(made.paths)) {
    for (const operation of METHODS.flatMap((method) => item[method] ?? [])) {
      const route = routes.get(operation.operationId ?? '');
      if (route === undefined) throw new Error(`No route has the id ${operation.operationId}.`);
      complete(operation, route);
      demandBody(operation, made.components?.schemas ?? {});
      operation.tags = operation.tags?.map((tag) => TAG_OF_CONTROLLER[tag] ?? tag) ?? [];
      for (const tag of operation.tags) used.add(tag);
    }
  }
  return {
    openapi: made.openapi,
    info: { title: 'Ghost', version: '1', description: DESCRIPTION },
    servers: [{ url: publicUrl }],
    tags: [...used]
      .sort()
      .map((name) => ({ name, ...(TAGS[name] === undefined ? {} : { description: TAGS[name] }) })),
    paths: sorted(made.paths),
    components: {
      securitySchemes: made.components?.securitySchemes ?? {},
      headers: SHARED_HEADERS,
      parameters: SHARED_PARAMETERS,
      responses: SHARED_ANSWERS,
      schemas: sorted({ ...made.components?.schemas, ...ERROR_SCHEMAS }),
    },
  };
}

/** The text of the document, as it is served and checked in. */
export function openApiText(document: OpenAPIObject): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** Adds what follows from the rules that hold for all routes. */
function complete(operation: Operation, route: DeclaredRoute): void {
  operation.description = describe(route);
  if (route.access.for === 'anyone') operation.security = [...(operation.security ?? []), {}];
  if (route.access.for === 'public') operation.security = [];
  const parameters = (operation.parameters ??= []);
  if (route.method === 'GET' && route.answer !== null) {
    parameters.push({ $ref: '#/components/parameters/IfNoneMatch' });
  }
  if (route.heedsIfMatch) parameters.push({ $ref: '#/components/parameters/IfMatch' });
  const good = operation.responses[route.status];
  if (good !== undefined && !('$ref' in good)) {
    if (route.media !== undefined) {
      good.content = { [route.media]: { schema: { type: 'string' } } };
    }
    good.headers = answerHeaders(route);
  }
  Object.assign(operation.responses, errorAnswers(route, operation));
}

/** No body at all is an empty one: it is needed where a field is. */
function demandBody(operation: Operation, schemas: Readonly<Record<string, object>>): void {
  const body = operation.requestBody;
  if (body === undefined || '$ref' in body) return;
  const given: object = body.content['application/json']?.schema ?? {};
  const name =
    String(Reflect.get(given, '$ref') ?? '')
      .split('/')
      .at(-1) ?? '';
  const required: unknown = Reflect.get(schemas[name] ?? given, 'required');
  body.required = Array.isArray(required) && required.length > 0;
}

function describe({ access, paged }: DeclaredRoute): string {
  const sentences: string[] = [];
  if (access.for === 'public') sentences.push('For anyone; no token is looked at.');
  else if (access.scope === null) sentences.push('For any token.');
  else {
    const who = access.for === 'anyone' ? 'Without a token, of what is public; a' : 'A';
    sentences.push(`${who} token needs the scope \`${access.scope}\`.`);
  }
  if (paged === true) sentences.push('One page of a list: `Link` leads to the next.');
  return sentences.join(' ');
}

function sorted<T>(given: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(given).sort(([a], [b]) => (a < b ? -1 : 1)));
}
