import { BlockList, isIP } from 'node:net';

import { normalizeIP } from '@fastify/rate-limit';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';

import { LOGGER } from '../database/tokens.js';

const IPV6_NETWORK_BITS = 64;
// Some proxies append the client's port to its address, in the forms of a URL's authority.
const IN_BRACKETS = /^\[([\da-f:.]+(?:%[\w.-]+)?)\](?::\d{1,5})?$/iu;
const IPV4_AND_PORT = /^(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}$/u;
const MAX_SHOWN_CHARS = 60;

type Connection = Pick<FastifyRequest, 'ip' | 'socket'>;

/** Who the clients are: who connects, or whom a trusted proxy names. */
@Injectable()
export class ClientAddresses {
  private warned = false;

  constructor(@Inject(LOGGER) private readonly logger: Pick<Logger, 'warn'>) {}

  /** The client's address. What a trusted proxy says without it being one is not believed: then the proxy's. */
  of({ ip, socket }: Connection): string {
    const named = addressIn(ip);
    if (named !== null) return named;
    this.warnOnce(ip);
    return socket.remoteAddress ?? '';
  }

  /** What one client can be expected to have: an IPv4 address, or the /64 of an IPv6 address. */
  networkOf(connection: Connection): string {
    return normalizeIP(withoutZone(this.of(connection)), IPV6_NETWORK_BITS);
  }

  private warnOnce(said: string): void {
    if (this.warned) return;
    this.warned = true;
    this.logger.warn(
      { event: 'api.forwarded_for_unreadable', said: said.slice(0, MAX_SHOWN_CHARS) },
      'A trusted proxy sends an X-Forwarded-For that names no address: its clients count as one, the proxy. Said once.',
    );
  }
}

/** The address that an entry of `X-Forwarded-For` names, with or without a port; null: none. */
export function addressIn(entry: string): string | null {
  const address = (IN_BRACKETS.exec(entry) ?? IPV4_AND_PORT.exec(entry))?.[1] ?? entry;
  return isIP(address) === 0 ? null : address;
}

/**
 * Whether a hop is one of the trusted proxies.
 * @param ranges - addresses and CIDR ranges, valid ones
 */
export function trustsProxies(ranges: readonly string[]): (hop: string) => boolean {
  const trusted = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/', 2);
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) trusted.addAddress(address, family);
    else trusted.addSubnet(address, Number(bits), family);
  }
  return (hop) => {
    const address = addressIn(hop);
    if (address === null) return false;
    const bare = withoutZone(address);
    return trusted.check(bare, isIP(bare) === 6 ? 'ipv6' : 'ipv4');
  };
}

/** A zone names a network of this machine and is no part of the address. */
function withoutZone(address: string): string {
  return address.split('%', 1)[0] ?? '';
}
