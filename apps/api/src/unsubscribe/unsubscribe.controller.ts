import type { Pool } from '@ghost/db';
import { Controller, Inject, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { Route } from '../http/route.js';
import { POOL } from '../database/tokens.js';
import { sendPage } from '../mail-links/link-page.js';
import { muteRepository, muteThread } from './mute.js';
import {
  confirmPage,
  DONE_PAGE,
  REPOSITORY_DONE_PAGE,
  UNKNOWN_LINK_PAGE,
} from './unsubscribe-page.js';
import { type UnsubscribeClaim, UnsubscribeTokens } from './unsubscribe-tokens.js';
import { UnwantedMailService } from './unwanted-mail.service.js';

/** Where the links of mails lead. The token is the right to it; nobody signs in. */
@Controller('unsubscribe')
export class UnsubscribeController {
  constructor(
    @Inject(POOL) private readonly pool: Pool,
    @Inject(UnsubscribeTokens) private readonly tokens: UnsubscribeTokens,
    @Inject(UnwantedMailService) private readonly unwanted: UnwantedMailService,
  ) {}

  /** Also HEAD. Changes nothing. */
  @Route({
    method: 'GET',
    path: ':token',
    access: { for: 'public' },
    id: 'show-unsubscribe',
    summary: 'Ask before a thread is muted.',
    status: 200,
    answer: null,
    media: 'text/html',
  })
  confirm(@Param('token') token: string, @Res() reply: FastifyReply): void {
    const known = this.tokens.verify(token) !== null;
    sendPage(reply, known ? 200 : 404, known ? confirmPage(token) : UNKNOWN_LINK_PAGE);
  }

  /** The button of the page, or a mail program's one click (RFC 8058). */
  @Route({
    method: 'POST',
    path: ':token',
    access: { for: 'public' },
    id: 'unsubscribe',
    summary: 'Mute a thread, by the link of a mail.',
    status: 200,
    answer: null,
    media: 'text/html',
    form: true,
  })
  async unsubscribe(@Param('token') token: string, @Res() reply: FastifyReply): Promise<void> {
    const claim = this.tokens.verify(token);
    const muted = claim !== null && (await this.muteThread(claim));
    sendPage(reply, muted ? 200 : 404, muted ? DONE_PAGE : UNKNOWN_LINK_PAGE);
  }

  /** The page's other button. Looking at it is a 405: nothing there is shown. */
  @Route({
    method: 'POST',
    path: ':token/repository',
    access: { for: 'public' },
    id: 'unsubscribe-from-repository',
    summary: 'Ignore the repository of a thread, by the link of a mail.',
    status: 200,
    answer: null,
    media: 'text/html',
    form: true,
  })
  async unsubscribeFromRepository(
    @Param('token') token: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const claim = this.tokens.verify(token);
    const muted = claim !== null && (await this.muteRepository(claim));
    sendPage(reply, muted ? 200 : 404, muted ? REPOSITORY_DONE_PAGE : UNKNOWN_LINK_PAGE);
  }

  private async muteThread(claim: UnsubscribeClaim): Promise<boolean> {
    const repositoryId = await muteThread(this.pool, claim);
    if (repositoryId !== null) await this.unwanted.cancel({ ...claim, repositoryId });
    return repositoryId !== null;
  }

  private async muteRepository(claim: UnsubscribeClaim): Promise<boolean> {
    const { accountId } = claim;
    const repositoryId = await muteRepository(this.pool, claim);
    if (repositoryId !== null) await this.unwanted.cancel({ accountId, repositoryId });
    return repositoryId !== null;
  }
}
