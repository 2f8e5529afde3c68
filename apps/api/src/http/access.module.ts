import { Module } from '@nestjs/common';

import { WebhookFanoutModule } from '../webhook-fanout/webhook-fanout.module.js';
import { AccessGate } from './access-gate.js';
import { ClientAddresses } from './client-addresses.js';
import { RateLimits } from './rate-limits.js';

/** What stands before every route of every module. */
@Module({
  imports: [WebhookFanoutModule],
  providers: [AccessGate, ClientAddresses, RateLimits],
})
export class AccessModule {}
