import { Module } from '@nestjs/common';

import { CancellingModule } from '../cancelling/cancelling.module.js';
import { ReplayModule } from '../hooks/replays/replay.module.js';
import { NotifierModule } from '../notifier/notifier.module.js';
import { RetentionModule } from '../retention/retention.module.js';
import { WebhookFanoutModule } from '../webhook-fanout/webhook-fanout.module.js';
import { OutboxService } from './outbox.service.js';

@Module({
  imports: [CancellingModule, NotifierModule, ReplayModule, RetentionModule, WebhookFanoutModule],
  providers: [OutboxService],
  exports: [OutboxService],
})
export class OutboxModule {}
