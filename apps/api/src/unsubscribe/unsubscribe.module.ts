import { Inject, Module, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';

import { acceptForms } from './form-bodies.js';
import { UnsubscribeController } from './unsubscribe.controller.js';
import { UnsubscribeTokens } from './unsubscribe-tokens.js';

const PATH = '/api/unsubscribe/';

@Module({
  controllers: [UnsubscribeController],
  providers: [UnsubscribeTokens],
  exports: [UnsubscribeTokens],
})
export class UnsubscribeModule implements OnModuleInit {
  constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    acceptForms(this.host.httpAdapter.getInstance<FastifyInstance>(), PATH);
  }
}
