import { Global, Module } from '@nestjs/common';

import { AccountsService } from './accounts.service.js';
import { AddressesService } from './addresses/addresses.service.js';
import { EmailsController } from './addresses/emails.controller.js';
import { VerificationTokens } from './addresses/verification-tokens.js';
import { VerifyAddressController } from './addresses/verify-address.controller.js';
import { MailChoicesController } from './mail-choices/mail-choices.controller.js';
import { MailChoicesService } from './mail-choices/mail-choices.service.js';
import { TokensController } from './tokens/tokens.controller.js';
import { UserController } from './user.controller.js';
import { UsersController } from './users.controller.js';

/** Accounts, for every module. */
@Global()
@Module({
  controllers: [
    UserController,
    UsersController,
    EmailsController,
    MailChoicesController,
    TokensController,
    VerifyAddressController,
  ],
  providers: [AccountsService, AddressesService, MailChoicesService, VerificationTokens],
  exports: [AccountsService],
})
export class AccountsModule {}
