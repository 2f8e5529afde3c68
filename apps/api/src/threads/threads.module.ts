import { Module } from '@nestjs/common';

import { UnsubscribeModule } from '../unsubscribe/unsubscribe.module.js';
import { CommentsController } from './comments.controller.js';
import { CommentsService } from './comments.service.js';
import { ThreadSubscriptionsController } from './thread-subscriptions.controller.js';
import { ThreadSubscriptionsService } from './thread-subscriptions.service.js';
import { ThreadsController } from './threads.controller.js';
import { ThreadsService } from './threads.service.js';

@Module({
  imports: [UnsubscribeModule],
  controllers: [ThreadsController, CommentsController, ThreadSubscriptionsController],
  providers: [ThreadsService, CommentsService, ThreadSubscriptionsService],
})
export class ThreadsModule {}
