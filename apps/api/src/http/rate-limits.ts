import { isIP } from 'node:net';

import type { Settings } from '@ghost/settings';
import rateLimit, { normalizeIP, type RateLimitOptions } from '@fastify/rate-limit';
import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { SETTINGS } from '../database/tokens.js';
import { ApiError } from './api-error.js';

const HOUR_MS = 3_600_000;
/** Of each kind: the one that asked longest ago is forgotten first. 10,000 take about 2 MB. */
const MAX_COUNTED = 10_000;
const IPV6_NETWORK_BITS = 64;

type Limiter = ReturnType<FastifyInstance['createRateLimit']>;
type Count = Extract<Awaited<ReturnType<Limiter>>, { isAllowed: false }>;
interface Limiters {
  /** By the hash of a token that was found good; null: neither limited nor needed. */
  token: Limiter | null;
  /** By address, without a token; null: not limited. */
  anonymous: Limiter | null;
  /** By address, with a token that is not good; null: not limited. */
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
  private readonly tokens = new WeakMap<FastifyRequest, { hash: string; wasGood: boolean }>();

  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
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
   * Before a token is looked up: refuses one whose count is full, and an address that tried too many bad
   * ones, unless this token was good within the hour – whoever shares an address is not locked out.
   */
  async admit(
    request: FastifyRequest,
    reply: FastifyReply,
    tokenHash: string | null,
  ): Promise<void> {
    const { token, failure } = this.limiters;
    if (tokenHash !== null) {
      const asked = { hash: tokenHash, wasGood: false };
      this.tokens.set(request, asked);
      const count = await token?.(request, { increment: false });
      if (count !== undefined && !count.isAllowed && count.ttl > 0) {
        asked.wasGood = true;
        if (count.remaining > 0) return;
        describe(reply, count, 'core');
        throw tooMany(count, 'requests an hour by one token');
      }
    }
    const count = await failure?.(request, { increment: false });
    if (count === undefined || count.isAllowed || count.remaining > 0) return;
    describe(reply, count, 'sign_in');
    throw tooMany(count, 'requests an hour with a bad token from one address');
  }

  /** Counts a request by the token that was admitted and found good. */
  async countToken(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const count = await this.limiters.token?.(request);
    if (count === undefined || count.isAllowed || this.settings.rateLimit === 0) return;
    describe(reply, count, 'core');
    if (count.isExceeded) throw tooMany(count, 'requests an hour by one token');
  }

  /** Counts a token that was not good; one that was revoked since it was good does not get by the address's count for long. */
  async countFailure(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (this.tokens.get(request)?.wasGood === true) await this.limiters.token?.(request);
    const count = await this.limiters.failure?.(request);
    if (count !== undefined && !count.isAllowed) describe(reply, count, 'sign_in');
  }

  private get limiters(): Limiters {
    this.made ??= this.make();
    return this.made;
  }

  private make(): Limiters {
    const server = this.host.httpAdapter.getInstance<FastifyInstance>();
    const { rateLimit: byToken, rateLimitAnonymous: byAddress } = this.settings;
    const limiter = (max: number, keyGenerator: (request: FastifyRequest) => string) => {
      const options: RateLimitOptions = {
        max,
        timeWindow: HOUR_MS,
        keyGenerator,
        cache: MAX_COUNTED,
      };
      return server.createRateLimit(options);
    };
    const addressed = () => (byAddress === 0 ? null : limiter(byAddress, networkOf));
    // Without a limit by token its count still tells which tokens are good.
    const most = byToken === 0 ? Number.MAX_SAFE_INTEGER : byToken;
    return {
      token:
        byToken === 0 && byAddress === 0
          ? null
          : limiter(most, (request) => this.tokens.get(request)?.hash ?? ''),
      anonymous: addressed(),
      failure: addressed(),
    };
  }
}

/**
 * What one client can be expected to have: an IPv4 address, or the /64 of an IPv6 address. What a
 * trusted proxy says without it being an address is not believed.
 */
export function networkOf(request: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  const address = isIP(request.ip) === 0 ? (request.socket.remoteAddress ?? '') : request.ip;
  // A zone names a network of this machine and is no part of the address.
  return normalizeIP(address.split('%', 1)[0] ?? '', IPV6_NETWORK_BITS);
}

function describe(reply: FastifyReply, count: Count, resource: 'core' | 'sign_in'): void {
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
