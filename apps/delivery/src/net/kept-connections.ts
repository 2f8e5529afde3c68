import type { HttpConnection } from './http-connection.js';

/** Receivers mostly close after 5 s; our own end comes first, so that seldom a closed one is used again. */
export const KEPT_FOR_MS = 4_000;
/** However busy it is, one connection is used no longer: its name may lead elsewhere by now, and nobody would ask. */
const USED_FOR_MS = 60_000;
/**
 * Idle sockets in all; the oldest is closed for the next, or thousands of lanes would hold one each.
 * In turn over more lanes than are kept each is closed just before it is wanted: 10 % of the CPU (measured).
 */
const KEPT_IN_ALL = 2_000;
/** To one host, by however many hooks: as many as may be sent to it at once. */
const KEPT_OF_A_HOST = 50;
/**
 * Jobs of one key that come together wait so long for the connection of the first: most receivers have answered by
 * then. Ten sockets a lane that are seldom used again stood for 20 % of the CPU (measured).
 */
const WAIT_MS = 100;
/**
 * While answers come, the others wait on for so long in all: where each took 15 ms, as on a machine that is busy, of ten
 * jobs four opened a connection, and 2,000 were soon too few for a thousand hooks (a third of the time, measured).
 */
const LONGEST_WAIT_MS = 300;
/** The last of a burst ends at most so much later. */
const SWEEP_MS = 1_000;

interface Kept {
  key: string;
  host: string;
  until: number;
}

type Waiter = (connection: HttpConnection | undefined) => void;

/** Requests of one key that are under way, and those that wait for a connection of theirs. */
interface Turns {
  busy: number;
  waiting: Waiter[];
  /** When one of them left a connection that can be used again. */
  answeredAt: number;
}

/** Idle connections, by lane and origin: one destination's sockets are never another's. */
export class KeptConnections {
  readonly #most: number;
  readonly #usedForMs: number;
  readonly #longestWaitMs: number;
  readonly #byKey = new Map<string, HttpConnection[]>();
  /** Oldest first. */
  readonly #kept = new Map<HttpConnection, Kept>();
  readonly #byHost = new Map<string, Set<HttpConnection>>();
  readonly #turns = new Map<string, Turns>();
  #sweep: NodeJS.Timeout | undefined;

  /** @param longestWaitMs - for the connection of another job: no more of a deadline than leaves time for one of its own */
  constructor(
    most = KEPT_IN_ALL,
    usedForMs = USED_FOR_MS,
    longestWaitMs: number = LONGEST_WAIT_MS,
  ) {
    this.#most = most;
    this.#usedForMs = usedForMs;
    this.#longestWaitMs = Math.min(LONGEST_WAIT_MS, longestWaitMs);
  }

  get size(): number {
    return this.#kept.size;
  }

  /**
   * An open connection of the key, the one used last first; undefined where a new one is to be dialed. Jobs that
   * come together wait a moment for each other's. Whatever it gives, `release` must follow.
   */
  acquire(key: string): HttpConnection | Promise<HttpConnection | undefined> | undefined {
    const connection = this.#take(key);
    const turns = this.#turns.get(key);
    if (turns === undefined) {
      this.#turns.set(key, { busy: 1, waiting: [], answeredAt: 0 });
      return connection;
    }
    if (connection !== undefined || turns.busy === 0) {
      turns.busy += 1;
      return connection;
    }
    return this.#waitFor(turns);
  }

  #waitFor(turns: Turns): Promise<HttpConnection | undefined> {
    const since = performance.now();
    return new Promise((resolve) => {
      const give: Waiter = (given) => {
        clearTimeout(timer);
        turns.busy += 1;
        resolve(given);
      };
      const look = () => {
        const until = Math.min(turns.answeredAt + WAIT_MS, since + this.#longestWaitMs);
        const leftMs = until - performance.now();
        if (leftMs > 0) {
          timer = setTimeout(look, leftMs);
          return;
        }
        turns.waiting = turns.waiting.filter((one) => one !== give);
        give(undefined);
      };
      let timer = setTimeout(look, Math.min(WAIT_MS, this.#longestWaitMs));
      turns.waiting.push(give);
    });
  }

  /**
   * @param host - name and port
   * @param connection - where it can carry another request
   */
  release(key: string, host: string, connection: HttpConnection | undefined): void {
    const turns = this.#turns.get(key);
    if (turns !== undefined) turns.busy -= 1;
    const now = performance.now();
    if (connection !== undefined && now - connection.openedAt >= this.#usedForMs)
      connection.close();
    const usable = connection?.idle === true;
    if (usable && turns !== undefined) turns.answeredAt = now;
    // Without one to give, only one that waits for nobody is let go on.
    const next = usable || turns?.busy === 0 ? turns?.waiting.shift() : undefined;
    if (usable && next === undefined) {
      this.#keep({ key, host, until: now + KEPT_FOR_MS }, connection);
    }
    if (next !== undefined) next(usable ? connection : undefined);
    else if (turns?.busy === 0) this.#turns.delete(key);
  }

  #take(key: string): HttpConnection | undefined {
    for (;;) {
      const connection = this.#byKey.get(key)?.at(-1);
      if (!connection) return undefined;
      this.#forget(connection);
      if (connection.idle) return connection;
    }
  }

  #keep(kept: Kept, connection: HttpConnection): void {
    const { key, host } = kept;
    this.#kept.set(connection, kept);
    const ofHost = this.#byHost.get(host);
    if (ofHost) ofHost.add(connection);
    else this.#byHost.set(host, new Set([connection]));
    const siblings = this.#byKey.get(key);
    if (siblings) siblings.push(connection);
    else this.#byKey.set(key, [connection]);
    // One handler a socket, however often it is kept.
    connection.onClose ??= () => this.#forget(connection);
    this.#sweep ??= setTimeout(() => this.#closeOld(), SWEEP_MS);
    const crowded = ofHost !== undefined && ofHost.size > KEPT_OF_A_HOST;
    if (!crowded && this.#kept.size <= this.#most) return;
    const [oldest] = crowded ? ofHost : this.#kept.keys();
    if (oldest) this.#end(oldest);
  }

  /** Closes all: nothing kept may outlive a change of policy or the process. */
  closeAll(): void {
    for (const connection of Array.from(this.#kept.keys())) this.#end(connection);
    clearTimeout(this.#sweep);
    this.#sweep = undefined;
  }

  #closeOld(): void {
    this.#sweep = undefined;
    const now = performance.now();
    for (const [connection, { until }] of Array.from(this.#kept)) {
      if (until > now) break;
      this.#end(connection);
    }
    if (this.#kept.size > 0) this.#sweep = setTimeout(() => this.#closeOld(), SWEEP_MS);
  }

  #end(connection: HttpConnection): void {
    this.#forget(connection);
    connection.close();
  }

  #forget(connection: HttpConnection): void {
    const kept = this.#kept.get(connection);
    if (kept === undefined) return;
    this.#kept.delete(connection);
    const ofHost = this.#byHost.get(kept.host);
    ofHost?.delete(connection);
    if (ofHost?.size === 0) this.#byHost.delete(kept.host);
    const siblings = this.#byKey.get(kept.key) ?? [];
    const at = siblings.indexOf(connection);
    if (at >= 0) siblings.splice(at, 1);
    if (siblings.length === 0) this.#byKey.delete(kept.key);
  }
}
