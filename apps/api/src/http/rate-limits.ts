import type { Settings } from '@ghost/settings';
import rateLimit, { type RateLimitOptions } from '@fastify/rate-limit';
import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { SETTINGS } from '../database/tokens.js';
import { ApiError } from './api-error.js';
import { ClientAddresses } from './client-addresses.js';
import { GoodTokens } from './good-tokens.js';

const HOUR_MS = 3_600_000;
/** Of each kind: the one that asked longest ago is forgotten first. 10,000 take about 2 MB. */
const MAX_COUNTED = 10_000;

/** What is counted, as `x-ratelimit-resource` names it: requests, and tokens that are not good. */
export const RATE_RESOURCES = ['core', 'sign_in'] as const;

type Limiter = ReturnType<FastifyInstance['createRateLimit']>;
type Count = Extract<Awaited<ReturnType<Limiter>>, { isAllowed: false }>;
/** Each null: not limited. */
interface Limiters {
  /** By account, whichever of its tokens it uses. */
  account: Limiter | null;
  /** By address, without a token. */
  anonymous: Limiter | null;
  /** By address, with a token that is not good. */
  failure: Limiter | null;
}

/** Lets {@link RateLimits} count. To be registered before the routes. */
export async function prepareRateLimits(server: FastifyInstance): Promise<void> {
  await server.register(rateLimit, { global: false });
}

/**
 * Counts requests, in fixed hours that begin with the first of them, and refuses what is too many with
 * GitHub's headers. In the memory of this process, which is bounded, without timers.
 */
@Injectable()
export class RateLimits {
  private made: Limiters | undefined;
  private readonly goodTokens = new GoodTokens(() => Date.now());
  private readonly accountIds = new WeakMap<FastifyRequest, number>();

  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(ClientAddresses) private readonly addresses: ClientAddresses,
    @Inject(SETTINGS)
    private readonly settings: Pick<Settings, 'rateLimit' | 'rateLimitAnonymous'>,
  ) {}

  /** Counts a request without a token. */
  async countAnonymous(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const count = await this.limiters.anonymous?.(request);
    if (count === undefined || count.isAllowed) return;
    describe(reply, count, 'core');
    if (count.isExceeded) {
      throw tooMany(count, 'requests an hour without a token from one address');
    }
  }

  /**
   * Before a token is looked up: refuses one whose account's count is full, and an address that tried too
   * many bad ones, unless this token was good within the hour – whoever shares an address is not locked out.
   * @param tokenHash - null: no token could be read
   */
  async admit(
    request: FastifyRequest,
    reply: FastifyReply,
    tokenHash: string | null,
  ): Promise<void> {
    const accountId = tokenHash === null ? null : this.goodTokens.accountOf(tokenHash);
    if (accountId !== null) {
      this.accountIds.set(request, accountId);
      const count = await this.limiters.account?.(request, { increment: false });
      if (count === undefined || count.isAllowed || count.ttl === 0 || count.remaining > 0) return;
      describe(reply, count, 'core');
      throw tooMany(count, 'requests an hour by one account');
    }
    const count = await this.limiters.failure?.(request, { increment: false });
    if (count === undefined || count.isAllowed || count.remaining > 0) return;
    describe(reply, count, 'sign_in');
    throw tooMany(count, 'requests an hour with a bad token from one address');
  }

  /** Counts a request of an account, by a token that was admitted and found good. */
  async countAccount(
    request: FastifyRequest,
    reply: FastifyReply,
    { tokenHash, accountId }: { tokenHash: string; accountId: number },
  ): Promise<void> {
    // One that is refused too: the next time that costs no look-up.
    this.goodTokens.remember(tokenHash, accountId);
    this.accountIds.set(request, accountId);
    const count = await this.limiters.account?.(request);
    if (count === undefined || count.isAllowed) return;
    describe(reply, count, 'core');
    if (count.isExceeded) throw tooMany(count, 'requests an hour by one account');
  }

  /** Counts a token that was not good. */
  async countFailure(
    request: FastifyRequest,
    reply: FastifyReply,
    tokenHash: string | null,
  ): Promise<void> {
    if (tokenHash !== null) this.goodTokens.forget(tokenHash);
    const count = await this.limiters.failure?.(request);
    if (count !== undefined && !count.isAllowed) describe(reply, count, 'sign_in');
  }

  private get limiters(): Limiters {
    this.made ??= this.make();
    return this.made;
  }

  private make(): Limiters {
    const server = this.host.httpAdapter.getInstance<FastifyInstance>();
    const limiter = (max: number, keyGenerator: (request: FastifyRequest) => string) => {
      const options: RateLimitOptions = {
        max,
        timeWindow: HOUR_MS,
        keyGenerator,
        cache: MAX_COUNTED,
      };
      return max === 0 ? null : server.createRateLimit(options);
    };
    const { rateLimit: byAccount, rateLimitAnonymous: byAddress } = this.settings;
    const addressed = () => limiter(byAddress, (request) => this.addresses.networkOf(request));
    return {
      account: limiter(byAccount, (request) => String(this.accountIds.get(request))),
      anonymous: addressed(),
      failure: addressed(),
    };
  }
}

function describe(
  reply: FastifyReply,
  count: Count,
  resource: (typeof RATE_RESOURCES)[number],
): void {
  const { max, remaining } = count;
  reply.headers({
    'x-ratelimit-limit': max,
    'x-ratelimit-remaining': remaining,
    'x-ratelimit-used': max - remaining,
    'x-ratelimit-reset': Math.ceil((Date.now() + count.ttl) / 1000),
    'x-ratelimit-resource': resource,
  });
}

function tooMany({ max, ttlInSeconds }: Count, what: string): ApiError {
  const seconds = Math.max(1, ttlInSeconds);
  return new ApiError({
    status: 429,
    code: 'rate_limited',
    message: `More than ${max} ${what}. Try again in ${seconds} s.`,
    headers: { 'retry-after': String(seconds) },
  });
}
