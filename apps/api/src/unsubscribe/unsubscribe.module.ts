import { Module } from '@nestjs/common';

import { UnsubscribeController } from './unsubscribe.controller.js';
import { UnsubscribeTokens } from './unsubscribe-tokens.js';
import { UnwantedMailService } from './unwanted-mail.service.js';

@Module({
  controllers: [UnsubscribeController],
  providers: [UnsubscribeTokens, UnwantedMailService],
  exports: [UnsubscribeTokens, UnwantedMailService],
})
export class UnsubscribeModule {}
