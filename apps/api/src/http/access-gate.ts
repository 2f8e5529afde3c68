import { hash } from 'node:crypto';

import { Inject, Injectable } from '@nestjs/common';
import { HEADER } from '@ghost/contract';
import type { HookChain } from '@ghost/db';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';

import { AccountsService } from '../accounts/accounts.service.js';
import { type Account, rememberAccount } from '../accounts/current-account.js';
import { LOGGER } from '../database/tokens.js';
import { HookChains } from '../webhook-fanout/hook-chains.js';
import { missingScope, unauthorized } from './api-error.js';
import { ClientAddresses } from './client-addresses.js';
import { RateLimits } from './rate-limits.js';
import { type RouteAccess, type RouteOptions, routeIdOf } from './route.js';

// Octokit sends `token T`, most others `Bearer T`; the scheme's case does not count (RFC 9110, 11.1).
const AUTHORIZATION = /^(?:bearer|token) +([\x21-\x7e]{1,255}) *$/iu;

/** Finds whose token it is, whether it may be used for that, and how often it was. */
@Injectable()
export class AccessGate {
  constructor(
    @Inject(AccountsService) private readonly accounts: AccountsService,
    @Inject(RateLimits) private readonly limits: RateLimits,
    @Inject(ClientAddresses) private readonly addresses: ClientAddresses,
    @Inject(HookChains) private readonly chains: HookChains,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** @throws ApiError 401, 403 or 429 for who may not call a route of this access */
  async admit(
    access: Exclude<RouteAccess, { for: 'public' }>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    const { authorization } = request.headers;
    if (authorization === undefined) {
      await this.limits.countAnonymous(request, reply);
      if (access.for === 'anyone') return;
      throw unauthorized('requires_authentication', 'Requires authentication');
    }
    const account = await this.identify(authorization, request, reply);
    rememberAccount(request, { ...account, cause: this.causeOf(request) });
    reply.header('x-oauth-scopes', account.token.scopes.join(', '));
    reply.header('x-accepted-oauth-scopes', access.scope ?? '');
    if (access.scope !== null && !account.token.scopes.includes(access.scope)) {
      throw missingScope(access.scope);
    }
  }

  /**
   * What is no chain of ours, or no longer one, says nothing: whoever sends headers on, or adds one, must not be
   * able to make a good request fail.
   */
  private causeOf({ headers }: FastifyRequest): HookChain | null {
    const given = headers[HEADER.chain];
    return typeof given === 'string' ? this.chains.read(given, new Date()) : null;
  }

  /** A token that does not count is an error, never nobody. */
  private async identify(
    header: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Account> {
    const token = AUTHORIZATION.exec(header)?.[1] ?? null;
    const tokenHash = token === null ? null : hash('sha256', token, 'base64');
    await this.limits.admit(request, reply, tokenHash);
    const account = token === null ? null : await this.accounts.findByToken(token);
    if (account === null || tokenHash === null) {
      await this.limits.countFailure(request, reply, tokenHash);
      this.logger.info(
        {
          event: 'api.sign_in_failed',
          reason: token === null ? 'malformed' : 'unknown_token',
          address: this.addresses.of(request),
          requestId: request.id,
        },
        'A token was not valid',
      );
      throw unauthorized('bad_credentials', 'Bad credentials');
    }
    await this.limits.countAccount(request, reply, { tokenHash, accountId: account.id });
    return account;
  }
}

/**
 * Stands before every route, and before the body of a request is read: what is refused costs no parsing.
 * To be called before the routes are declared.
 * @param routes - all that are declared, by id; what is not among them is refused
 */
export function guardRoutes(
  server: FastifyInstance,
  gate: AccessGate,
  routes: ReadonlyMap<string, RouteOptions>,
): void {
  server.addHook('onRequest', (request, reply, done) => {
    const route = routes.get(routeIdOf(request) ?? '');
    if (route === undefined) {
      done(new Error(`${request.method} ${request.routeOptions.url} is not declared by @Route`));
      return;
    }
    const { access } = route;
    if (access.for === 'public') done();
    else gate.admit(access, request, reply).then(() => done(), done);
  });
}
