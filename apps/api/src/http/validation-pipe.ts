import { Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';

import {
  badRequest,
  type FieldError,
  MAX_FIELD_ERRORS,
  notFound,
  validationFailed,
} from './api-error.js';

type Issue = NonNullable<
  Awaited<ReturnType<NonNullable<ArgumentMetadata['schema']>['~standard']['validate']>>['issues']
>[number];

/**
 * Validates each argument by the schema in its decorator: `@Body({ schema })`. A path that fits no
 * schema names nothing (404), a body or query that does not is a 422 with every fault.
 */
@Injectable()
export class ValidationPipe implements PipeTransform {
  async transform(value: unknown, { schema, type }: ArgumentMetadata): Promise<unknown> {
    if (schema === undefined) return value;
    // No body at all is an empty one: what is required is then missing.
    const given = type === 'body' && (value === undefined || value === null) ? {} : value;
    const result = await schema['~standard'].validate(given);
    if (result.issues === undefined) return result.value;
    if (type === 'param') throw notFound();
    if (
      result.issues.some((issue) => pathOf(issue).length === 0 && codeOf(issue) === 'invalid_type')
    ) {
      throw badRequest('not_an_object', 'The body must be a JSON object.');
    }
    throw validationFailed(result.issues.flatMap((issue) => fieldErrors(issue, given, type)));
  }
}

function fieldErrors(issue: Issue, given: unknown, type: ArgumentMetadata['type']): FieldError[] {
  const path = pathOf(issue);
  const field = nameOf(path);
  const keys: unknown = Reflect.get(issue, 'keys');
  if (codeOf(issue) === 'unrecognized_keys' && Array.isArray(keys)) {
    return keys.slice(0, MAX_FIELD_ERRORS).map((key) => ({
      field: nameOf([...path, String(key)]),
      code: 'unknown_field',
      message: `There is no such ${type === 'query' ? 'query parameter' : 'field'}.`,
    }));
  }
  if (codeOf(issue) === 'invalid_type' && isMissing(given, path)) {
    return [{ field, code: 'missing_field', message: `"${field}" is missing.` }];
  }
  return [{ field, code: ownCode(issue), message: issue.message }];
}

function pathOf(issue: Issue): PropertyKey[] {
  return (issue.path ?? []).map((step) => (typeof step === 'object' ? step.key : step));
}

function nameOf(path: readonly PropertyKey[]): string {
  return path.map(String).join('.');
}

function codeOf(issue: Issue): unknown {
  return Reflect.get(issue, 'code');
}

/** The code that a rule of ours gave (`params: { code }`), or GitHub's for any other fault. */
function ownCode(issue: Issue): string {
  const params: unknown = Reflect.get(issue, 'params');
  const code: unknown =
    typeof params === 'object' && params !== null ? Reflect.get(params, 'code') : undefined;
  return typeof code === 'string' ? code : 'invalid';
}

function isMissing(given: unknown, path: readonly PropertyKey[]): boolean {
  let at = given;
  for (const step of path) {
    if (typeof at !== 'object' || at === null) return false;
    at = Reflect.get(at, step);
  }
  return at === undefined;
}
