import { Controller, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import * as z from 'zod';

import { Route } from '../http/route.js';
import { MetricsService } from './metrics.service.js';
import { ReadinessService } from './readiness.service.js';

const aliveAnswer = z.object({ status: z.literal('ok') }).meta({ id: 'Alive' });
const readyAnswer = z
  .object({
    ready: z.boolean(),
    database: z.enum(['up', 'down']),
    listener: z.enum(['connected', 'disconnected']),
  })
  .meta({ id: 'Readiness' });

/** For whoever runs the process: at the root, beside the API, without a token. */
@Controller()
export class StatusController {
  constructor(
    @Inject(ReadinessService) private readonly readiness: ReadinessService,
    @Inject(MetricsService) private readonly metrics: MetricsService,
  ) {}

  /** Alive: the event loop answers. */
  @Route({
    method: 'GET',
    path: 'healthz',
    access: { for: 'public' },
    id: 'get-health',
    summary: 'Alive: the event loop answers.',
    status: 200,
    answer: aliveAnswer,
  })
  alive() {
    return { status: 'ok' };
  }

  /** Can work. */
  @Route({
    method: 'GET',
    path: 'readyz',
    access: { for: 'public' },
    id: 'get-readiness',
    summary: 'Whether it can work.',
    status: 200,
    answer: readyAnswer,
    unavailable: true,
  })
  async ready(@Res({ passthrough: true }) reply: FastifyReply) {
    const readiness = await this.readiness.check();
    reply.status(readiness.ready ? 200 : 503);
    return readiness;
  }

  @Route({
    method: 'GET',
    path: 'metrics',
    access: { for: 'public' },
    id: 'get-metrics',
    summary: 'Metrics in the Prometheus text format.',
    status: 200,
    answer: null,
    media: 'text/plain',
  })
  async read(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    const { text, contentType } = await this.metrics.read();
    reply.header('content-type', contentType);
    return text;
  }
}
