import { getServers, promises } from 'node:dns';

import { type LookedUp, LookUpQueue } from './look-up-queue.js';

/**
 * c-ares asks again after this, then after twice as long; where answers come fast it gives up sooner, after some 2 s
 * with three tries (measured).
 */
const QUERY_TIMEOUT_MS = 700;
/** 5 s at most with one server; each try asks every server, so with two or three it is 4 to 6 s. */
const TRIES_OF_ONE_SERVER = 3;
const TRIES_OF_MORE = 2;
/** Some servers never answer for AAAA: an address that was found waits so long for the other family. */
const OTHER_FAMILY_WAIT_MS = 1_000;

export type Answers =
  | { found: true; addresses: string[] }
  /** `code` as c-ares names it: ENOTFOUND, ENODATA, ETIMEOUT, ESERVFAIL, …; EBUSY: too many wait. */
  | { found: false; code: string };

export interface Resolver {
  /**
   * Every IPv4 and IPv6 address of a name. Look-ups of one name that overlap share one query.
   * @param signal - aborted by who no longer wants to know
   */
  resolve(host: string, signal?: AbortSignal): Promise<Answers>;
  /** Look-ups under way; at most some 600, however many new names are never answered. */
  readonly pending: number;
  close(): void;
}

/**
 * A resolver of its own on c-ares, never `dns.lookup`: that has four threads, and four black-holed
 * names delayed an innocent one by 8 s (measured). Nothing is kept between look-ups, so an answer
 * is judged and dialed at once or never.
 *
 * @param servers - `address[:port]`; empty: those of the machine
 */
export function createResolver(servers: readonly string[] = []): Resolver {
  const count = (servers.length > 0 ? servers : getServers()).length;
  const tries = count > 1 ? TRIES_OF_MORE : TRIES_OF_ONE_SERVER;
  const cares = new promises.Resolver({ timeout: QUERY_TIMEOUT_MS, tries });
  if (servers.length > 0) cares.setServers(servers);
  const lookUps = new LookUpQueue<Answers>(
    async (host) => withSilence(await lookUp(cares, host)),
    { found: false, code: 'EBUSY' },
    () => performance.now(),
  );
  return {
    resolve: (host, signal) => lookUps.find(host, signal),
    get pending() {
      return lookUps.underWay;
    },
    close: () => {
      lookUps.close();
      cares.cancel();
    },
  };
}

async function lookUp(cares: promises.Resolver, host: string): Promise<Answers> {
  const families = [ask(cares.resolve4(host)), ask(cares.resolve6(host))];
  const first = await Promise.race(families);
  const both = Promise.all(families);
  const all = first.found ? await orAfter(OTHER_FAMILY_WAIT_MS, both, [first]) : await both;
  const addresses = all.flatMap((one) => (one.found ? one.addresses : []));
  if (addresses.length > 0) return { found: true, addresses };
  // "No such record" of one family says less than what went wrong with the other.
  const codes = all.flatMap((one) => (one.found ? [] : [one.code]));
  const telling = codes.find((code) => code !== 'ENODATA' && code !== 'ENOTFOUND');
  return { found: false, code: telling ?? codes[0] ?? 'ENODATA' };
}

function withSilence(found: Answers): LookedUp<Answers> {
  return { found, unanswered: !found.found && found.code === 'ETIMEOUT' };
}

async function ask(query: Promise<string[]>): Promise<Answers> {
  try {
    const addresses = await query;
    return addresses.length > 0 ? { found: true, addresses } : { found: false, code: 'ENODATA' };
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
    return { found: false, code: typeof code === 'string' ? code : 'EUNKNOWN' };
  }
}

async function orAfter<T>(waitMs: number, promise: Promise<T>, instead: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(instead), waitMs);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
