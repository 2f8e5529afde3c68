import { Body, Controller, Inject, Param, Query } from '@nestjs/common';
import * as z from 'zod';

import { type Account, CurrentAccount, MaybeAccount } from '../accounts/current-account.js';
import { IfMatch, type Precondition } from '../http/entity-tag.js';
import { type Page, pageOf } from '../http/page.js';
import { Route } from '../http/route.js';
import { CommentsService } from './comments.service.js';
import {
  type CommentPath,
  commentPath,
  type NewComment,
  newComment,
  type ThreadPath,
  threadPath,
} from './thread-schemas.js';
import { commentAnswer } from './thread-view.js';

@Controller('repos/:owner/:repo/threads')
export class CommentsController {
  constructor(@Inject(CommentsService) private readonly comments: CommentsService) {}

  @Route({
    method: 'GET',
    path: ':number/comments',
    access: { for: 'anyone', scope: 'repo' },
    id: 'list-comments',
    summary: 'The comments of a thread, oldest first.',
    status: 200,
    answer: z.array(commentAnswer),
    paged: true,
    errors: [404, 422],
  })
  list(
    @MaybeAccount() account: Account | null,
    @Param({ schema: threadPath }) path: ThreadPath,
    @Query({ schema: pageOf('comments') }) page: Page,
  ) {
    return this.comments.list(account, path, page);
  }

  @Route({
    method: 'POST',
    path: ':number/comments',
    access: { for: 'account', scope: 'repo' },
    id: 'create-comment',
    summary: 'Comment on a thread.',
    status: 201,
    answer: commentAnswer,
    errors: [404, 422],
  })
  create(
    @CurrentAccount() account: Account,
    @Param({ schema: threadPath }) path: ThreadPath,
    @Body({ schema: newComment }) wanted: NewComment,
  ) {
    return this.comments.create(account, path, wanted);
  }

  @Route({
    method: 'GET',
    path: 'comments/:id',
    access: { for: 'anyone', scope: 'repo' },
    id: 'get-comment',
    summary: 'A comment.',
    status: 200,
    answer: commentAnswer,
    errors: [404],
  })
  show(@MaybeAccount() account: Account | null, @Param({ schema: commentPath }) path: CommentPath) {
    return this.comments.find(account, path);
  }

  @Route({
    method: 'PATCH',
    path: 'comments/:id',
    access: { for: 'account', scope: 'repo' },
    id: 'edit-comment',
    summary: 'Edit a comment.',
    status: 200,
    answer: commentAnswer,
    errors: [404, 412, 422],
  })
  edit(
    @CurrentAccount() account: Account,
    @Param({ schema: commentPath }) path: CommentPath,
    @Body({ schema: newComment }) wanted: NewComment,
    @IfMatch() precondition: Precondition,
  ) {
    return this.comments.edit(account, path, wanted, precondition);
  }

  @Route({
    method: 'DELETE',
    path: 'comments/:id',
    access: { for: 'account', scope: 'repo' },
    id: 'delete-comment',
    summary: 'Delete a comment, and cancel what is still queued of it.',
    status: 204,
    answer: null,
    errors: [404, 412],
  })
  async remove(
    @CurrentAccount() account: Account,
    @Param({ schema: commentPath }) path: CommentPath,
    @IfMatch() precondition: Precondition,
  ): Promise<void> {
    await this.comments.remove(account, path, precondition);
  }
}
