import type { Settings } from '@ghost/settings';
import { Controller, Inject } from '@nestjs/common';

import { SETTINGS } from '../database/tokens.js';
import { notFound } from '../http/api-error.js';
import { Route } from '../http/route.js';
import { AccountsService } from './accounts.service.js';
import { type Account, CurrentAccount } from './current-account.js';
import { privateUserAnswer, type PrivateUserAnswer, privateUserView } from './user-view.js';

/** The account that a token belongs to. */
@Controller('user')
export class UserController {
  constructor(
    @Inject(AccountsService) private readonly accounts: AccountsService,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'publicUrl'>,
  ) {}

  @Route({
    method: 'GET',
    access: { for: 'account', scope: null },
    id: 'get-authenticated-user',
    summary: 'The account that the token belongs to.',
    status: 200,
    answer: privateUserAnswer,
  })
  async show(@CurrentAccount() { id }: Account): Promise<PrivateUserAnswer> {
    const profile = await this.accounts.findProfile({ id });
    if (profile === null) throw notFound();
    return privateUserView(this.settings.publicUrl, profile);
  }
}
