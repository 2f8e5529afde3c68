import type { Settings } from '@ghost/settings';
import { Controller, Inject, Param } from '@nestjs/common';
import * as z from 'zod';

import { SETTINGS } from '../database/tokens.js';
import { notFound } from '../http/api-error.js';
import { Route } from '../http/route.js';
import { username } from '../repositories/repository-path.js';
import { AccountsService } from './accounts.service.js';
import { publicUserAnswer, type PublicUserAnswer, publicUserView } from './user-view.js';

const userPath = z.object({ username });
type UserPath = z.infer<typeof userPath>;

/** Accounts, as anybody sees them. */
@Controller('users')
export class UsersController {
  constructor(
    @Inject(AccountsService) private readonly accounts: AccountsService,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'publicUrl'>,
  ) {}

  @Route({
    method: 'GET',
    path: ':username',
    access: { for: 'anyone', scope: 'repo' },
    id: 'get-user',
    summary: 'An account, as anybody sees it.',
    status: 200,
    answer: publicUserAnswer,
    errors: [404],
  })
  async show(
    @Param({ schema: userPath }) { username: login }: UserPath,
  ): Promise<PublicUserAnswer> {
    const profile = await this.accounts.findProfile({ login });
    if (profile === null) throw notFound();
    return publicUserView(this.settings.publicUrl, profile);
  }
}
