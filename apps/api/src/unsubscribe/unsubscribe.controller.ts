import type { Pool } from '@ghost/db';
import { Controller, Get, Inject, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { POOL } from '../database/tokens.js';
import { muteThread } from './mute-thread.js';
import { CONFIRM_PAGE, DONE_PAGE, PAGE_HEADERS, UNKNOWN_LINK_PAGE } from './unsubscribe-page.js';
import { UnsubscribeTokens } from './unsubscribe-tokens.js';

/** Where the links of mails lead. The token is the right to it; nobody signs in. */
@Controller('unsubscribe')
export class UnsubscribeController {
  constructor(
    @Inject(POOL) private readonly pool: Pool,
    @Inject(UnsubscribeTokens) private readonly tokens: UnsubscribeTokens,
  ) {}

  /** Also HEAD. Changes nothing. */
  @Get(':token')
  confirm(@Param('token') token: string, @Res() reply: FastifyReply): void {
    const known = this.tokens.verify(token) !== null;
    answer(reply, known ? 200 : 404, known ? CONFIRM_PAGE : UNKNOWN_LINK_PAGE);
  }

  /** The button of the page, or a mail program's one click (RFC 8058). */
  @Post(':token')
  async unsubscribe(@Param('token') token: string, @Res() reply: FastifyReply): Promise<void> {
    const claim = this.tokens.verify(token);
    const muted = claim !== null && (await muteThread(this.pool, claim));
    answer(reply, muted ? 200 : 404, muted ? DONE_PAGE : UNKNOWN_LINK_PAGE);
  }
}

function answer(reply: FastifyReply, status: number, page: string): void {
  void reply.status(status).headers(PAGE_HEADERS).send(page);
}
