import { Body, Controller, Inject } from '@nestjs/common';

import { Route } from '../../http/route.js';
import { type Account, CurrentAccount } from '../current-account.js';
import {
  type MailChoiceAnswer,
  type MailChoiceEdit,
  mailChoiceAnswer,
  mailChoiceEdit,
} from './mail-choice-schemas.js';
import { MailChoicesService } from './mail-choices.service.js';

/** What mail the asker wants of all threads; one repository or thread is chosen by its subscription. */
@Controller('user/mail-choices')
export class MailChoicesController {
  constructor(@Inject(MailChoicesService) private readonly choices: MailChoicesService) {}

  @Route({
    method: 'GET',
    access: { for: 'account', scope: 'repo' },
    id: 'get-mail-choices',
    summary: 'What mail you want of all repositories and threads.',
    status: 200,
    answer: mailChoiceAnswer,
  })
  async show(@CurrentAccount() { id }: Account): Promise<MailChoiceAnswer> {
    return this.choices.find(id);
  }

  @Route({
    method: 'PATCH',
    access: { for: 'account', scope: 'repo' },
    id: 'edit-mail-choices',
    summary: 'Choose what mail you want of all repositories and threads; what is left out stays.',
    status: 200,
    answer: mailChoiceAnswer,
    errors: [422],
  })
  async edit(
    @CurrentAccount() { id }: Account,
    @Body({ schema: mailChoiceEdit }) edit: MailChoiceEdit,
  ): Promise<MailChoiceAnswer> {
    return this.choices.edit(id, edit);
  }
}
