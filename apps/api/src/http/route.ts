import type { ApiScope } from '@ghost/db';
import {
  applyDecorators,
  HttpCode,
  RequestMapping,
  RequestMethod,
  SetMetadata,
} from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiConsumes, ApiOperation, ApiResponse, ApiSecurity } from '@nestjs/swagger';
import type * as z from 'zod';

const METHODS = {
  GET: RequestMethod.GET,
  POST: RequestMethod.POST,
  PUT: RequestMethod.PUT,
  PATCH: RequestMethod.PATCH,
  DELETE: RequestMethod.DELETE,
} as const;

/** Name of the security scheme in the OpenAPI document. */
export const TOKEN_SECURITY = 'token';

/**
 * Who may call a route at all; what they may do in a repository is judged by its permission.
 * `public`: no token is looked at. `anyone`: without a token too, as somebody without an account.
 * `account`: a token is needed. The scope is what a token must hold, null: any token will do.
 */
export type RouteAccess =
  | { for: 'public' }
  | { for: 'anyone'; scope: ApiScope }
  | { for: 'account'; scope: ApiScope | null };

export interface RouteOptions {
  method: keyof typeof METHODS;
  /** Below the controller's path. */
  path?: string;
  access: RouteAccess;
  /** In the OpenAPI document: stable, `list-threads`. */
  id: string;
  /** One sentence. */
  summary: string;
  /** Of the answer when all is well. */
  status: 200 | 201 | 202 | 204;
  /** What the answer holds; null: nothing, or no JSON. */
  answer: z.ZodType | null;
  /** The type of an answer that is no JSON. */
  media?: 'text/html' | 'text/plain';
  /** It answers 503 in the same shape: it says what cannot work. */
  unavailable?: boolean;
  /** A form may come as body; it is not read. */
  form?: boolean;
  /** A raw message comes as body, as `message/rfc822`. */
  message?: boolean;
  /** The answer is a page of a list: `Link` leads to the next. */
  paged?: boolean;
  /** Other statuses that the route answers with, beside those that every route has. */
  errors?: readonly (401 | 404 | 409 | 412 | 413 | 422)[];
}

export const ROUTE = Symbol('ROUTE');

/**
 * Declares a route: who may call it, and what it is in the OpenAPI document. A handler without it does
 * not start (`declaredRoutes`), so nothing is open by oversight.
 */
export function Route(options: RouteOptions): MethodDecorator {
  const { method, path = '', access, id, summary, status, answer } = options;
  const decorators = [
    RequestMapping({ path, method: METHODS[method] }),
    HttpCode(status),
    SetMetadata(ROUTE, options),
    RouteConfig({ id, form: options.form === true, message: options.message === true }),
    ApiOperation({ operationId: id, summary }),
    answer === null
      ? ApiResponse({ status, description: summary })
      : ApiResponse({ status, description: summary, standardSchema: answer }),
  ];
  if (options.message === true) {
    decorators.push(
      ApiConsumes('message/rfc822'),
      ApiBody({ schema: { type: 'string' }, description: 'The raw message (RFC 5322).' }),
    );
  }
  if (access.for !== 'public') {
    const scopes = access.scope === null ? [] : [access.scope];
    decorators.push(ApiSecurity(TOKEN_SECURITY, scopes));
  }
  return applyDecorators(...decorators);
}

/** Whether the route that a request is for takes raw messages. */
export function takesMessages({ routeOptions }: RoutedRequest): boolean {
  return Reflect.get(routeOptions.config, 'message') === true;
}

/** The id of the declared route that a request is for. */
export function routeIdOf({ routeOptions }: RoutedRequest): string | undefined {
  const id: unknown = Reflect.get(routeOptions.config, 'id');
  return typeof id === 'string' ? id : undefined;
}

/** Whether the route that a request is for takes forms. */
export function takesForms({ routeOptions }: RoutedRequest): boolean {
  return Reflect.get(routeOptions.config, 'form') === true;
}

interface RoutedRequest {
  routeOptions: { config: object };
}
