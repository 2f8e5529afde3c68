import { Module } from '@nestjs/common';

import { UnsubscribeController } from './unsubscribe.controller.js';
import { UnsubscribeTokens } from './unsubscribe-tokens.js';

@Module({
  controllers: [UnsubscribeController],
  providers: [UnsubscribeTokens],
  exports: [UnsubscribeTokens],
})
export class UnsubscribeModule {}
