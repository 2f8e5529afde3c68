import { Module } from '@nestjs/common';

import { HookChains } from './hook-chains.js';
import { WebhookFanoutService } from './webhook-fanout.service.js';

@Module({
  providers: [WebhookFanoutService, HookChains],
  exports: [WebhookFanoutService, HookChains],
})
export class WebhookFanoutModule {}
