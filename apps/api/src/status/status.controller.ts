import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { MetricsService } from './metrics.service.js';
import { ReadinessService } from './readiness.service.js';

/** For whoever runs the process: at the root, beside the API, without a token. */
@Controller()
export class StatusController {
  constructor(
    @Inject(ReadinessService) private readonly readiness: ReadinessService,
    @Inject(MetricsService) private readonly metrics: MetricsService,
  ) {}

  /** Alive: the event loop answers. */
  @Get('healthz')
  alive() {
    return { status: 'ok' };
  }

  /** Can work. */
  @Get('readyz')
  async ready(@Res({ passthrough: true }) reply: FastifyReply) {
    const readiness = await this.readiness.check();
    reply.status(readiness.ready ? 200 : 503);
    return readiness;
  }

  @Get('metrics')
  async read(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    const { text, contentType } = await this.metrics.read();
    reply.header('content-type', contentType);
    return text;
  }
}
