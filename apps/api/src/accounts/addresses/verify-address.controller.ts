import { Controller, Inject, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { Route } from '../../http/route.js';
import { sendPage } from '../../mail-links/link-page.js';
import { AddressesService } from './addresses.service.js';
import { VerificationTokens } from './verification-tokens.js';
import {
  confirmPage,
  EXPIRED_LINK_PAGE,
  UNKNOWN_ADDRESS_PAGE,
  VERIFIED_PAGE,
} from './verify-address-page.js';

/** Where the link of a verification mail leads. The token is the right to it; nobody signs in. */
@Controller('verify-address')
export class VerifyAddressController {
  constructor(
    @Inject(AddressesService) private readonly addresses: AddressesService,
    @Inject(VerificationTokens) private readonly tokens: VerificationTokens,
  ) {}

  /** Also HEAD. Changes nothing. */
  @Route({
    method: 'GET',
    path: ':token',
    access: { for: 'public' },
    id: 'show-verify-address',
    summary: 'Ask before an address is verified.',
    status: 200,
    answer: null,
    media: 'text/html',
  })
  async confirm(@Param('token') token: string, @Res() reply: FastifyReply): Promise<void> {
    const claim = this.tokens.verify(token, new Date());
    const found = claim === null ? null : await this.addresses.find(claim.addressId);
    if (claim === null || found === null) sendPage(reply, 404, UNKNOWN_ADDRESS_PAGE);
    else if (found.verified) sendPage(reply, 200, VERIFIED_PAGE);
    else if (claim.expired) sendPage(reply, 404, EXPIRED_LINK_PAGE);
    else sendPage(reply, 200, confirmPage(found.login, found.address));
  }

  /** The button of the page; again it says the same. */
  @Route({
    method: 'POST',
    path: ':token',
    access: { for: 'public' },
    id: 'verify-address',
    summary: 'Verify an address, by the link of a mail.',
    status: 200,
    answer: null,
    media: 'text/html',
    form: true,
  })
  async verify(@Param('token') token: string, @Res() reply: FastifyReply): Promise<void> {
    const claim = this.tokens.verify(token, new Date());
    if (claim?.expired === true) {
      sendPage(reply, 404, EXPIRED_LINK_PAGE);
      return;
    }
    const result = claim === null ? 'absent' : await this.addresses.verify(claim.addressId);
    if (result === 'absent') sendPage(reply, 404, UNKNOWN_ADDRESS_PAGE);
    else sendPage(reply, 200, VERIFIED_PAGE);
  }
}
