import type { INestApplicationContext } from '@nestjs/common';
import { METHOD_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';

import { ifMatchOf } from './entity-tag.js';
import { ROUTE, type RouteOptions } from './route.js';

export interface DeclaredRoute extends RouteOptions {
  /** The handler takes `@IfMatch()`. */
  heedsIfMatch: boolean;
  /** The handler takes `@Query()`. */
  takesQuery: boolean;
  /** The handler takes `@Body()`. */
  takesBody: boolean;
}

/**
 * What `@Route` says of every handler there is, by the route's id.
 * @throws Error that names a handler which Nest would serve without `@Route`, or an id that two have
 */
export function declaredRoutes(app: INestApplicationContext): Map<string, DeclaredRoute> {
  const routes = new Map<string, DeclaredRoute>();
  for (const { name, prototype, method, handler } of handlersOf(app)) {
    const route = Reflect.getMetadata(ROUTE, handler) as RouteOptions | undefined;
    if (route === undefined) {
      throw new Error(`${name}.${method} answers requests and is not declared by @Route.`);
    }
    if (routes.has(route.id)) throw new Error(`Two routes have the id "${route.id}".`);
    routes.set(route.id, { ...route, ...whatItTakes(prototype, method) });
  }
  return routes;
}

/** The methods of controllers that Nest serves. */
function* handlersOf(app: INestApplicationContext) {
  const controllers = [...app.get(ModulesContainer).values()].flatMap((module) => [
    ...module.controllers.values(),
  ]);
  for (const { metatype, name } of controllers) {
    const prototype: unknown = metatype?.prototype;
    if (typeof prototype !== 'object' || prototype === null) continue;
    for (const method of new MetadataScanner().getAllMethodNames(prototype)) {
      const handler: unknown = Reflect.get(prototype, method);
      if (typeof handler === 'function' && Reflect.hasMetadata(METHOD_METADATA, handler)) {
        yield { name, prototype, method, handler };
      }
    }
  }
}

function whatItTakes(
  prototype: object,
  method: string,
): Pick<DeclaredRoute, 'heedsIfMatch' | 'takesQuery' | 'takesBody'> {
  const given: unknown = Reflect.getMetadata(ROUTE_ARGS_METADATA, prototype.constructor, method);
  const takes = Object.entries(given ?? {});
  // A key is the kind of the parameter, a colon and its place.
  const takesKind = (kind: RouteParamtypes) => takes.some(([key]) => key.startsWith(`${kind}:`));
  return {
    heedsIfMatch: takes.some(
      ([, argument]: [string, unknown]) =>
        typeof argument === 'object' &&
        argument !== null &&
        Reflect.get(argument, 'factory') === ifMatchOf,
    ),
    takesQuery: takesKind(RouteParamtypes.QUERY),
    takesBody: takesKind(RouteParamtypes.BODY),
  };
}
