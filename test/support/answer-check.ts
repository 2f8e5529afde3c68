import addFormats from 'ajv-formats';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/** As far as answers are judged by it. */
export interface ApiDocumentation {
  paths: Record<string, Record<string, { responses?: Record<string, DocumentedAnswer> }>>;
  components?: {
    responses?: Record<string, DocumentedAnswer>;
    headers?: Record<string, DocumentedHeader>;
  };
}
interface DocumentedHeader {
  $ref?: string;
  required?: boolean;
}
interface DocumentedAnswer {
  $ref?: string;
  headers?: Record<string, DocumentedHeader>;
  content?: Record<string, { schema?: object }>;
}

export interface GivenAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Throws when an answer is not what the document declares for its route, method and status. */
export type AnswerCheck = (method: string, path: string, answer: GivenAnswer) => void;

// Of what fits no route, or no method of it; the document describes them once for all.
const UNROUTED: ReadonlySet<number> = new Set([400, 404, 405]);
const MAX_SHOWN_CHARS = 600;

/** @param document - as the API serves it; `path` then begins with `/api` */
export function answerCheck(document: ApiDocumentation): AnswerCheck {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, 'api');
  const validators = new Map<string, ValidateFunction>();
  const fits = (pointer: string, body: unknown): string | null => {
    const validate = validators.get(pointer) ?? ajv.compile({ $ref: `api#${pointer}` });
    validators.set(pointer, validate);
    return validate(body) ? null : ajv.errorsText(validate.errors, { dataVar: 'answer' });
  };
  const routes = Object.keys(document.paths).map((template) => ({
    template,
    parts: template.split('/'),
    methods: Object.keys(document.paths[template] ?? {}),
  }));
  return (method, path, answer) => {
    const name = `${method} ${path}`;
    const template = templateOf(methodOf(method), path, routes);
    const operation =
      template === undefined ? undefined : document.paths[template]?.[methodOf(method)];
    if (template === undefined || operation === undefined) {
      if (method === 'OPTIONS' && answer.status === 204 && answer.text === '') return;
      if (!UNROUTED.has(answer.status)) {
        throw new Error(`${name} answered ${answer.status}, and the document has no such route.`);
      }
      if (method === 'HEAD' && answer.text === '') return;
      failUnless(fits('/components/schemas/Error', JSON.parse(answer.text)), name, answer);
      return;
    }
    const given = operation.responses?.[answer.status];
    if (given === undefined) {
      const declared = Object.keys(operation.responses ?? {}).join(', ');
      throw new Error(
        `${name} answered ${answer.status}, which the document does not declare (${declared}): ${shown(answer)}`,
      );
    }
    const { components = {} } = document;
    const declared = resolve(components.responses, given);
    for (const [header, is] of Object.entries(declared.headers ?? {})) {
      if (resolve(components.headers, is).required === true && !answer.headers.has(header)) {
        throw new Error(`${name} answered ${answer.status} without the header ${header}.`);
      }
    }
    checkContent(declared, pointerOf(template, methodOf(method), answer.status, given), fits, {
      ...answer,
      name,
      bodiless: method === 'HEAD' || answer.status === 304,
    });
  };
}

function checkContent(
  { content = {} }: DocumentedAnswer,
  pointer: string,
  fits: (pointer: string, body: unknown) => string | null,
  answer: GivenAnswer & { name: string; bodiless: boolean },
): void {
  if (answer.bodiless) {
    if (answer.text !== '') throw new Error(`${answer.name} has a body: ${shown(answer)}`);
    return;
  }
  const types = Object.keys(content);
  const type = answer.headers.get('content-type')?.split(';', 1)[0] ?? '';
  if (types.length === 0) {
    if (answer.text === '') return;
    throw new Error(
      `${answer.name} answered ${answer.status} with a body, and the document declares none: ${shown(answer)}`,
    );
  }
  // Whatever a page declares, a fault that is found before it is answered in JSON.
  if (!types.includes(type) && !(type === 'application/json' && answer.status >= 400)) {
    throw new Error(`${answer.name} answered as ${type || 'nothing'}, not ${types.join(' or ')}.`);
  }
  if (type !== 'application/json') return;
  const schema = types.includes(type)
    ? `${pointer}/content/application~1json/schema`
    : '/components/schemas/Error';
  failUnless(fits(schema, JSON.parse(answer.text)), answer.name, answer);
}

function failUnless(fault: string | null, name: string, answer: GivenAnswer): void {
  if (fault === null) return;
  throw new Error(
    `${name} answered ${answer.status} with what the document does not allow: ${fault}\n${shown(answer)}`,
  );
}

function shown({ text }: GivenAnswer): string {
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text;
}

/** HEAD is documented by its GET. */
function methodOf(method: string): string {
  return method === 'HEAD' ? 'get' : method.toLowerCase();
}

/**
 * The template of a path and method; where several fit, the one with the fewest parameters, as in the
 * router: `DELETE /replays/preview` is one of `/replays/{id}`, as `/replays/preview` has a GET alone.
 */
function templateOf(
  method: string,
  path: string,
  routes: readonly {
    template: string;
    parts: readonly string[];
    methods: readonly string[];
  }[],
): string | undefined {
  const given = (path.split('?', 1)[0] ?? '').split('/');
  const fitting = routes.filter(
    ({ parts, methods }) =>
      methods.includes(method) &&
      parts.length === given.length &&
      parts.every((part, at) => (part.startsWith('{') ? given[at] !== '' : part === given[at])),
  );
  const parameters = (template: string) => template.split('{').length;
  fitting.sort((a, b) => parameters(a.template) - parameters(b.template));
  return fitting[0]?.template;
}

/** What is declared in place, or shared and referred to. */
function resolve<T extends { $ref?: string }>(shared: Record<string, T> | undefined, given: T): T {
  if (given.$ref === undefined) return given;
  const found = shared?.[given.$ref.split('/').at(-1) ?? ''];
  if (found === undefined) throw new Error(`The document lacks ${given.$ref}.`);
  return found;
}

function pointerOf(
  template: string,
  method: string,
  status: number,
  { $ref }: DocumentedAnswer,
): string {
  if ($ref !== undefined) return $ref.replace(/^#/u, '');
  const path = template
    .replaceAll('~', '~0')
    .replaceAll('/', '~1')
    .replaceAll('{', '%7B')
    .replaceAll('}', '%7D');
  return `/paths/${path}/${method}/responses/${status}`;
}
