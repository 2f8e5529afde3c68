import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

import { unauthorized } from '../http/api-error.js';
import { AccountsService } from './accounts.service.js';
import { rememberAccount } from './current-account.js';

// Octokit sends `token T`, most others `Bearer T`; the scheme's case does not count (RFC 9110, 11.1).
const AUTHORIZATION = /^(?:bearer|token) +([\x21-\x7e]{1,255}) *$/iu;

/** Lets a request pass that carries a live API token, and remembers whose it is. */
@Injectable()
export class TokenGuard implements CanActivate {
  constructor(@Inject(AccountsService) private readonly accounts: AccountsService) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const header = request.headers.authorization;
    if (header === undefined) {
      throw unauthorized('requires_authentication', 'Requires authentication');
    }
    const token = AUTHORIZATION.exec(header)?.[1];
    const account = token === undefined ? null : await this.accounts.findByToken(token);
    if (account === null) throw unauthorized('bad_credentials', 'Bad credentials');
    rememberAccount(request, account);
    return true;
  }
}
