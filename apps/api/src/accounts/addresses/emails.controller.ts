import { Body, Controller, Inject, Query } from '@nestjs/common';
import * as z from 'zod';

import { IfMatch, type Precondition } from '../../http/entity-tag.js';
import { Listed } from '../../http/listed.js';
import { Route } from '../../http/route.js';
import { type Account, CurrentAccount } from '../current-account.js';
import { AddressesService } from './addresses.service.js';
import {
  type EmailAnswer,
  emailAnswer,
  type EmailList,
  emailList,
  type EmailPage,
  emailPage,
  type NewPrimary,
  newPrimary,
} from './email-schemas.js';
import { emailView } from './email-view.js';

const SCOPED = { for: 'account', scope: 'admin' } as const;

/** The addresses of the account that the token belongs to. */
@Controller('user/emails')
export class EmailsController {
  constructor(@Inject(AddressesService) private readonly addresses: AddressesService) {}

  @Route({
    method: 'GET',
    access: SCOPED,
    id: 'list-emails',
    summary: 'Your addresses, the oldest first.',
    status: 200,
    answer: z.array(emailAnswer),
    paged: true,
    errors: [422],
  })
  async list(
    @CurrentAccount() account: Account,
    @Query({ schema: emailPage }) { per_page: perPage, after = 0 }: EmailPage,
  ): Promise<Listed<EmailAnswer>> {
    const rows = (await this.addresses.list(account)).filter(({ id }) => id > after);
    return Listed.from(rows, perPage, 'addresses', ({ id }) => id, emailView);
  }

  @Route({
    method: 'POST',
    access: SCOPED,
    id: 'add-emails',
    summary: 'Add addresses: each gets a mail with a link that verifies it; again for a new mail.',
    status: 201,
    answer: z.array(emailAnswer),
    errors: [422],
  })
  async add(
    @CurrentAccount() account: Account,
    @Body({ schema: emailList }) { emails }: EmailList,
  ): Promise<EmailAnswer[]> {
    return (await this.addresses.add(account, emails)).map(emailView);
  }

  @Route({
    method: 'DELETE',
    access: SCOPED,
    id: 'delete-emails',
    summary: 'Remove addresses, and cancel the mail that waits for them; not the primary one.',
    status: 204,
    answer: null,
    errors: [404, 412, 422],
  })
  async remove(
    @CurrentAccount() account: Account,
    @Body({ schema: emailList }) { emails }: EmailList,
    @IfMatch() precondition: Precondition,
  ): Promise<void> {
    await this.addresses.remove(account, emails, precondition);
  }

  @Route({
    method: 'PATCH',
    path: 'primary',
    access: SCOPED,
    id: 'set-primary-email',
    summary: 'Send your mail to another of your verified addresses from now on.',
    status: 200,
    answer: z.array(emailAnswer),
    errors: [404, 412, 422],
  })
  async makePrimary(
    @CurrentAccount() account: Account,
    @Body({ schema: newPrimary }) { email }: NewPrimary,
    @IfMatch() precondition: Precondition,
  ): Promise<EmailAnswer[]> {
    return (await this.addresses.makePrimary(account, email, precondition)).map(emailView);
  }
}
