import { promises as dns } from 'node:dns';

/** c-ares asks again after this; two tries fit into the deadline of an attempt. */
const QUERY_TIMEOUT_MS = 2_000;
const QUERY_TRIES = 2;
/** Some servers never answer for AAAA: an address that was found waits so long for the other family. */
const OTHER_FAMILY_WAIT_MS = 1_000;

export type Answers =
  | { found: true; addresses: string[] }
  /** `code` as c-ares names it: ENOTFOUND, ENODATA, ETIMEOUT, ESERVFAIL, … */
  | { found: false; code: string };

export interface Resolver {
  /** Every IPv4 and IPv6 address of a name. Look-ups of one name that overlap share one query. */
  resolve(host: string): Promise<Answers>;
  /** Look-ups under way. */
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
  const cares = new dns.Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
  if (servers.length > 0) cares.setServers(servers);
  const underWay = new Map<string, Promise<Answers>>();
  return {
    resolve: (host) => {
      const shared = underWay.get(host);
      if (shared) return shared;
      const query = lookUp(cares, host).finally(() => underWay.delete(host));
      underWay.set(host, query);
      return query;
    },
    get pending() {
      return underWay.size;
    },
    close: () => cares.cancel(),
  };
}

async function lookUp(cares: dns.Resolver, host: string): Promise<Answers> {
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
