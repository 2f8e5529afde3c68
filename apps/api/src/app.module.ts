import { type DynamicModule, Module } from '@nestjs/common';

import { AccountsModule } from './accounts/accounts.module.js';
import { DatabaseModule, type Resources } from './database/database.module.js';
import { AccessModule } from './http/access.module.js';
import { DocumentModule } from './http/document.controller.js';
import { HooksModule } from './hooks/hooks.module.js';
import { MailEventsModule } from './mail-events/mail-events.module.js';
import { OutboxModule } from './outbox/outbox.module.js';
import { RepositoriesModule } from './repositories/repositories.module.js';
import { StatusModule } from './status/status.module.js';
import { ThreadsModule } from './threads/threads.module.js';
import { UnsubscribeModule } from './unsubscribe/unsubscribe.module.js';

/** The whole API over what the composition root made. */
@Module({})
export class AppModule {
  static over(resources: Resources): DynamicModule {
    return {
      module: AppModule,
      imports: [
        DatabaseModule.forRoot(resources),
        AccountsModule,
        AccessModule,
        RepositoriesModule,
        ThreadsModule,
        HooksModule,
        OutboxModule,
        MailEventsModule,
        UnsubscribeModule,
        StatusModule,
        DocumentModule,
      ],
    };
  }
}
