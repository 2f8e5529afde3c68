import { Module } from '@nestjs/common';

import { ReplayRunner } from './replay-runner.js';
import { ReplaysController } from './replays.controller.js';
import { ReplaysService } from './replays.service.js';

@Module({
  controllers: [ReplaysController],
  providers: [ReplaysService, ReplayRunner],
  exports: [ReplayRunner],
})
export class ReplayModule {}
