import type { Pool } from '@ghost/db';
import { addToken, listTokens, revokeToken } from '@ghost/operations';
import { Body, Controller, Header, Inject, Param, Query } from '@nestjs/common';
import * as z from 'zod';

import { POOL } from '../../database/tokens.js';
import { notFound } from '../../http/api-error.js';
import { Listed } from '../../http/listed.js';
import { Route } from '../../http/route.js';
import { asked } from '../account-fault.js';
import { type Account, CurrentAccount } from '../current-account.js';
import {
  type AddedTokenAnswer,
  addedTokenAnswer,
  type NewToken,
  newToken,
  type TokenAnswer,
  tokenAnswer,
  type TokenPage,
  tokenPage,
  type TokenPath,
  tokenPath,
} from './token-schemas.js';
import { tokenView } from './token-view.js';

const SCOPED = { for: 'account', scope: 'admin' } as const;

/** The tokens of the account that the token belongs to. */
@Controller('user/tokens')
export class TokensController {
  constructor(@Inject(POOL) private readonly pool: Pool) {}

  @Route({
    method: 'GET',
    access: SCOPED,
    id: 'list-tokens',
    summary: 'Your tokens that are not revoked, the newest first.',
    status: 200,
    answer: z.array(tokenAnswer),
    paged: true,
    errors: [422],
  })
  async list(
    @CurrentAccount() account: Account,
    @Query({ schema: tokenPage }) { per_page: perPage, after }: TokenPage,
  ): Promise<Listed<TokenAnswer>> {
    const rows = await listTokens(this.pool, {
      accountId: account.id,
      limit: perPage + 1,
      revoked: false,
      ...(after === undefined ? {} : { after }),
    });
    return Listed.from(rows, perPage, 'tokens', ({ id }) => id, tokenView);
  }

  @Route({
    method: 'POST',
    access: SCOPED,
    id: 'add-token',
    summary: 'Make a token that may do no more, and lasts no longer, than the one that you use.',
    status: 201,
    answer: addedTokenAnswer,
    errors: [422],
  })
  @Header('cache-control', 'no-store')
  async add(
    @CurrentAccount() account: Account,
    @Body({ schema: newToken }) { label, scopes, expires_at: expiresAt = null }: NewToken,
  ): Promise<AddedTokenAnswer> {
    const added = await asked('expires_at', () =>
      addToken(this.pool, { accountId: account.id, label, scopes, expiresAt, actor: account }),
    );
    return { ...tokenView(added), token: added.token };
  }

  @Route({
    method: 'DELETE',
    path: ':id',
    access: SCOPED,
    id: 'revoke-token',
    summary: 'End a token at once; the one that you use, too.',
    status: 204,
    answer: null,
    errors: [404],
  })
  async revoke(
    @CurrentAccount() account: Account,
    @Param({ schema: tokenPath }) { id }: TokenPath,
  ): Promise<void> {
    const result = await revokeToken(this.pool, { id, accountId: account.id, actor: account });
    if (result === 'absent') throw notFound();
  }
}
