/** What is wrong with one field; `code` is stable, `message` is for people. */
export interface FieldError {
  field: string;
  code: string;
  message: string;
}

interface ApiErrorParts {
  status: number;
  /** Stable, in snake_case. */
  code: string;
  message: string;
  errors?: readonly FieldError[];
  headers?: Readonly<Record<string, string>>;
}

// A body with a hundred thousand unknown keys must not get an answer that is larger than itself.
export const MAX_FIELD_ERRORS = 20;
const MAX_FIELD_CHARS = 100;

/** An answer that is an error, and the asker's to mend; everything else that is thrown is a 500. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly errors: readonly FieldError[] | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor({ status, code, message, errors, headers = {} }: ApiErrorParts) {
    super(message);
    this.status = status;
    this.code = code;
    this.errors = errors;
    this.headers = headers;
  }
}

/** One answer for what is absent and for what the asker may not see: nobody learns which it is. */
export function notFound(): ApiError {
  return new ApiError({ status: 404, code: 'not_found', message: 'Not Found' });
}

export function forbidden(message: string): ApiError {
  return new ApiError({ status: 403, code: 'forbidden', message });
}

/** The token is good, and not for this. */
export function missingScope(scope: string): ApiError {
  return new ApiError({
    status: 403,
    code: 'missing_scope',
    message: `This token lacks the scope "${scope}". Make one that holds it.`,
  });
}

export function unauthorized(code: string, message: string): ApiError {
  const headers = { 'www-authenticate': 'Bearer realm="Ghost"' };
  return new ApiError({ status: 401, code, message, headers });
}

export function badRequest(code: string, message: string): ApiError {
  return new ApiError({ status: 400, code, message });
}

export function unsupportedMediaType(message: string): ApiError {
  return new ApiError({ status: 415, code: 'unsupported_media_type', message });
}

export function notJson(): ApiError {
  return unsupportedMediaType('Send JSON, with the header "content-type: application/json".');
}

/** @param maxBytes - the bound of the route that refused */
export function bodyTooLarge(maxBytes: number): ApiError {
  return new ApiError({
    status: 413,
    code: 'body_too_large',
    message: `The body is larger than ${maxBytes} bytes, the most that is taken here.`,
  });
}

/** @param allowed - the methods that the path takes */
export function methodNotAllowed(method: string, allowed: readonly string[]): ApiError {
  return new ApiError({
    status: 405,
    code: 'method_not_allowed',
    message: `${method} is not possible here; possible are: ${allowed.join(', ')}.`,
    headers: { allow: allowed.join(', ') },
  });
}

/** GitHub's answer to fields that are missing, malformed or unknown; it names the first of them. */
export function validationFailed(errors: readonly FieldError[]): ApiError {
  return new ApiError({
    status: 422,
    code: 'validation_failed',
    message: 'Validation Failed',
    errors: errors
      .slice(0, MAX_FIELD_ERRORS)
      .map((error) => ({ ...error, field: error.field.slice(0, MAX_FIELD_CHARS) })),
  });
}

/** A field that only the database could judge. */
export function invalidField(field: string, code: string, message: string): ApiError {
  return validationFailed([{ field, code, message }]);
}
