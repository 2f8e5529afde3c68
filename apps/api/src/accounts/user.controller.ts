import { Controller, Get, UseGuards } from '@nestjs/common';

import { type Account, CurrentAccount } from './current-account.js';
import { TokenGuard } from './token-guard.js';

/** The account that a token belongs to. */
@Controller('user')
@UseGuards(TokenGuard)
export class UserController {
  @Get()
  show(@CurrentAccount() account: Account) {
    return {
      id: account.id,
      login: account.login,
      name: account.name,
      site_admin: account.isAdmin,
      type: 'User',
    };
  }
}
