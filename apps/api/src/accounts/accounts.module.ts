import { Global, Module } from '@nestjs/common';

import { AccountsService } from './accounts.service.js';
import { TokenGuard } from './token-guard.js';
import { UserController } from './user.controller.js';

/** Global, as every other module's routes stand behind the token guard. */
@Global()
@Module({
  controllers: [UserController],
  providers: [AccountsService, TokenGuard],
  exports: [AccountsService, TokenGuard],
})
export class AccountsModule {}
