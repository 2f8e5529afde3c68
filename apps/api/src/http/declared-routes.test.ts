import 'reflect-metadata';

import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterEach, expect, test } from 'vitest';

import { startTestApi } from '../../../../test/support/test-api.js';
import { StatusController } from '../status/status.controller.js';
import { declaredRoutes } from './declared-routes.js';
import { ROUTE, Route } from './route.js';

const HANDLER = Reflect.get(StatusController.prototype, 'alive') as object;
const declared: unknown = Reflect.getMetadata(ROUTE, HANDLER);
afterEach(() => Reflect.defineMetadata(ROUTE, declared, HANDLER));

test('an API with a handler that is not declared by @Route does not start, and says which it is', async () => {
  Reflect.deleteMetadata(ROUTE, HANDLER);
  await expect(startTestApi()).rejects.toThrow(
    /StatusController\.alive .* not declared by @Route/u,
  );
});

@Controller()
class OpenController {
  @Get('open')
  show(): string {
    return 'for all the world';
  }
}

@Module({ controllers: [OpenController] })
class OpenModule {}

@Controller()
class TwiceController {
  @Route({
    method: 'GET',
    path: 'a',
    access: { for: 'public' },
    id: 'show',
    summary: 'A.',
    status: 200,
    answer: null,
  })
  a(): void {
    // Nothing to show.
  }

  @Route({
    method: 'GET',
    path: 'b',
    access: { for: 'public' },
    id: 'show',
    summary: 'B.',
    status: 200,
    answer: null,
  })
  b(): void {
    // Nothing to show.
  }
}

@Module({ controllers: [TwiceController] })
class TwiceModule {}

test.each([
  ["Nest's own decorators do not do", OpenModule, /OpenController\.show/u],
  ['no two routes have the same id', TwiceModule, /Two routes have the id "show"/u],
])('%s', async (_name, module, says) => {
  const app = await NestFactory.createApplicationContext(module, { logger: false });
  expect(() => declaredRoutes(app)).toThrow(says);
  await app.close();
});
