import { Module } from '@nestjs/common';

import { UnsubscribeModule } from '../unsubscribe/unsubscribe.module.js';
import { NotifierService } from './notifier.service.js';

@Module({
  imports: [UnsubscribeModule],
  providers: [NotifierService],
  exports: [NotifierService],
})
export class NotifierModule {}
