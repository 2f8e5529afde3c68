import {
  Body,
  Controller,
  Get,
  HttpCode,
  Inject,
  Param,
  Post,
  Query,
  UseGuards,
} from '@nestjs/common';

import { type Account, CurrentAccount } from '../accounts/current-account.js';
import { TokenGuard } from '../accounts/token-guard.js';
import { type Page, page } from '../http/page.js';
import { CommentsService } from './comments.service.js';
import { type NewComment, newComment, type ThreadPath, threadPath } from './thread-schemas.js';
import { commentView } from './thread-view.js';

@Controller('repos/:owner/:repo/threads/:number/comments')
@UseGuards(TokenGuard)
export class CommentsController {
  constructor(@Inject(CommentsService) private readonly comments: CommentsService) {}

  @Post()
  @HttpCode(201)
  async create(
    @CurrentAccount() account: Account,
    @Param({ schema: threadPath }) path: ThreadPath,
    @Body({ schema: newComment }) wanted: NewComment,
  ) {
    return commentView(await this.comments.create(account, path, wanted));
  }

  @Get()
  async list(
    @CurrentAccount() account: Account,
    @Param({ schema: threadPath }) path: ThreadPath,
    @Query({ schema: page }) wanted: Page,
  ) {
    return (await this.comments.list(account, path, wanted)).map(commentView);
  }
}
