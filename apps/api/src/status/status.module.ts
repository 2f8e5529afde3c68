import { Module } from '@nestjs/common';

import { OutboxModule } from '../outbox/outbox.module.js';
import { MetricsService } from './metrics.service.js';
import { ReadinessService } from './readiness.service.js';
import { StatusController } from './status.controller.js';

@Module({
  imports: [OutboxModule],
  controllers: [StatusController],
  providers: [MetricsService, ReadinessService],
  exports: [MetricsService],
})
export class StatusModule {}
