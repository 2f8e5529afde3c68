import { Module } from '@nestjs/common';

import { WebhookFanoutService } from './webhook-fanout.service.js';

@Module({ providers: [WebhookFanoutService], exports: [WebhookFanoutService] })
export class WebhookFanoutModule {}
