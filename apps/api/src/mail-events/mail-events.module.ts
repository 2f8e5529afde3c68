import { Module } from '@nestjs/common';

import { MailEventsController } from './mail-events.controller.js';

@Module({ controllers: [MailEventsController] })
export class MailEventsModule {}
