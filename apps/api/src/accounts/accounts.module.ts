import { Global, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';

import { RateLimits } from '../http/rate-limits.js';
import { AccessGuard } from './access-guard.js';
import { AccountsService } from './accounts.service.js';
import { AddressesService } from './addresses/addresses.service.js';
import { EmailsController } from './addresses/emails.controller.js';
import { VerificationTokens } from './addresses/verification-tokens.js';
import { VerifyAddressController } from './addresses/verify-address.controller.js';
import { TokensController } from './tokens/tokens.controller.js';
import { UserController } from './user.controller.js';
import { UsersController } from './users.controller.js';

/** Accounts, and the guard that stands before every route of every module. */
@Global()
@Module({
  controllers: [
    UserController,
    UsersController,
    EmailsController,
    TokensController,
    VerifyAddressController,
  ],
  providers: [
    AccountsService,
    RateLimits,
    AddressesService,
    VerificationTokens,
    { provide: APP_GUARD, useClass: AccessGuard },
  ],
  exports: [AccountsService],
})
export class AccountsModule {}
