import { Module } from '@nestjs/common';

import { CancellingModule } from '../cancelling/cancelling.module.js';
import { UnsubscribeModule } from '../unsubscribe/unsubscribe.module.js';
import { CollaboratorsController } from './collaborators.controller.js';
import { MembersService } from './members.service.js';
import { RepositoriesController } from './repositories.controller.js';
import { RepositoriesService } from './repositories.service.js';
import { RepositoryListsController } from './repository-lists.controller.js';
import { RepositoryListsService } from './repository-lists.service.js';
import { SubscriptionsController } from './subscriptions.controller.js';
import { SubscriptionsService } from './subscriptions.service.js';

@Module({
  imports: [CancellingModule, UnsubscribeModule],
  controllers: [
    RepositoriesController,
    RepositoryListsController,
    CollaboratorsController,
    SubscriptionsController,
  ],
  providers: [RepositoriesService, RepositoryListsService, MembersService, SubscriptionsService],
})
export class RepositoriesModule {}
