import { Module } from '@nestjs/common';

import { CancellingModule } from '../cancelling/cancelling.module.js';
import { DeliveriesController } from './deliveries/deliveries.controller.js';
import { DeliveriesService } from './deliveries/deliveries.service.js';
import { HookEventsController } from './events/hook-events.controller.js';
import { HooksController } from './hooks.controller.js';
import { HooksService } from './hooks.service.js';
import { ReplayModule } from './replays/replay.module.js';
import { UndeliveredController } from './undelivered/undelivered.controller.js';

@Module({
  imports: [CancellingModule, ReplayModule],
  controllers: [HooksController, DeliveriesController, HookEventsController, UndeliveredController],
  providers: [HooksService, DeliveriesService],
})
export class HooksModule {}
