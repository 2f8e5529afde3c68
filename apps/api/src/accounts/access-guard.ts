import { hash } from 'node:crypto';

import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';

import { LOGGER } from '../database/tokens.js';
import { missingScope, unauthorized } from '../http/api-error.js';
import { RateLimits } from '../http/rate-limits.js';
import { ROUTE, type RouteOptions } from '../http/route.js';
import { AccountsService } from './accounts.service.js';
import { type Account, rememberAccount } from './current-account.js';

// Octokit sends `token T`, most others `Bearer T`; the scheme's case does not count (RFC 9110, 11.1).
const AUTHORIZATION = /^(?:bearer|token) +([\x21-\x7e]{1,255}) *$/iu;

/** Stands before every route: finds whose token it is, whether it may be used for that, and how often it was. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    @Inject(AccountsService) private readonly accounts: AccountsService,
    @Inject(RateLimits) private readonly limits: RateLimits,
    @Inject(Reflector) private readonly reflector: Reflector,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const route = this.reflector.get<RouteOptions | undefined>(ROUTE, context.getHandler());
    if (route === undefined) throw new Error('A handler is not declared by @Route');
    const { access } = route;
    if (access.for === 'public') return true;
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const { authorization } = request.headers;
    if (authorization === undefined) {
      await this.limits.countAnonymous(request, reply);
      if (access.for === 'anyone') return true;
      throw unauthorized('requires_authentication', 'Requires authentication');
    }
    const account = await this.identify(authorization, request, reply);
    rememberAccount(request, account);
    reply.header('x-oauth-scopes', account.token.scopes.join(', '));
    reply.header('x-accepted-oauth-scopes', access.scope ?? '');
    if (access.scope !== null && !account.token.scopes.includes(access.scope)) {
      throw missingScope(access.scope);
    }
    return true;
  }

  /** A token that does not count is an error, never nobody. */
  private async identify(
    header: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Account> {
    const token = AUTHORIZATION.exec(header)?.[1] ?? null;
    await this.limits.admit(request, reply, token && hash('sha256', token, 'base64'));
    const account = token === null ? null : await this.accounts.findByToken(token);
    if (account === null) {
      await this.limits.countFailure(request, reply);
      this.logger.info(
        {
          event: 'api.sign_in_failed',
          reason: token === null ? 'malformed' : 'unknown_token',
          address: request.ip,
          requestId: request.id,
        },
        'A token was not valid',
      );
      throw unauthorized('bad_credentials', 'Bad credentials');
    }
    await this.limits.countToken(request, reply);
    return account;
  }
}
