import { Module } from '@nestjs/common';

import { CommentsController } from './comments.controller.js';
import { CommentsService } from './comments.service.js';
import { ThreadsController } from './threads.controller.js';
import { ThreadsService } from './threads.service.js';

@Module({
  controllers: [ThreadsController, CommentsController],
  providers: [ThreadsService, CommentsService],
})
export class ThreadsModule {}
