import { Module } from '@nestjs/common';

import { AccessGate } from './access-gate.js';
import { ClientAddresses } from './client-addresses.js';
import { RateLimits } from './rate-limits.js';

/** What stands before every route of every module. */
@Module({ providers: [AccessGate, ClientAddresses, RateLimits] })
export class AccessModule {}
