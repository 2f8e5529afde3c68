import pg from 'pg';

import { databaseErrorCode } from './database-error.js';
import { CONNECT_TIMEOUT_MS } from './pool.js';

export const OUTBOX_CHANNEL = 'ghost_outbox';
export const DELIVERY_CHANNEL = 'ghost_delivery';
/** A replay was made or cancelled, or what it waits for may have come. */
export const REPLAY_CHANNEL = 'ghost_replay';
export type Channel = typeof OUTBOX_CHANNEL | typeof DELIVERY_CHANNEL | typeof REPLAY_CHANNEL;

/** The second try after a loss; the first comes at once, as mostly only the connection was lost. */
const FIRST_RECONNECT_MS = 500;
/** After an outage of hours nobody is deaf for longer. */
const LONGEST_RECONNECT_MS = 10_000;
/** A heartbeat waits half of its interval for the answer: a dead connection is found within 1.5 intervals. */
const LEAST_HEARTBEAT_TIMEOUT_MS = 1_000;
const LONGEST_HEARTBEAT_TIMEOUT_MS = 10_000;
/** Somebody waits: sooner than a heartbeat, as a needless reconnect costs one look. */
const CHECK_TIMEOUT_MS = 2_000;
/** Heard so lately, a connection needs no proof: a busy process is woken far more often. */
const FRESH_MS = 1_000;
const GOODBYE_MS = 500;
/** cannot_connect_now: the server starts, recovers or stops, and will soon say something else. */
const STARTING_UP = '57P03';

export interface ListenerOptions {
  connectionString: string;
  /** All are heard on one connection; problems are told by the name of the first. */
  channels: readonly [Channel, ...Channel[]];
  name: string;
  /**
   * Called at each notification, and after each (re)connect, on behalf of every channel: what was committed
   * meanwhile sent none.
   */
  onWake: (why: 'notified' | 'connected', channel: string | null) => void;
  onProblem: (message: string, error: unknown) => void;
  /** An idle LISTEN connection sends nothing; the heartbeat finds the one that is half open. */
  heartbeatMs: number;
  firstReconnectMs?: number;
  /** How long a heartbeat may stay without an answer. */
  heartbeatTimeoutMs?: number;
}

type State =
  | { at: 'stopped' }
  | { at: 'waiting'; timer: NodeJS.Timeout }
  | { at: 'connecting'; client: pg.Client }
  | Listening;
/** `proof`: a question that is on its way. Times are on the monotonic clock. */
interface Listening {
  at: 'listening';
  client: pg.Client;
  since: number;
  heardAt: number;
  heartbeat: NodeJS.Timeout | undefined;
  proof: Promise<void> | undefined;
}

/**
 * Listens on a connection of its own until stopped. One that is lost is made anew at once, and for
 * ever after with a capped back-off; each wait has an end, so that no half-open socket holds it up.
 * A dropped client is destroyed and keeps its error handler: a late error cannot crash the process.
 */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #firstReconnectMs: number;
  readonly #heartbeatTimeoutMs: number;
  #state: State = { at: 'stopped' };
  #failures = 0;

  constructor(options: ListenerOptions) {
    const { heartbeatMs, heartbeatTimeoutMs, firstReconnectMs = FIRST_RECONNECT_MS } = options;
    this.#options = options;
    this.#firstReconnectMs = firstReconnectMs;
    this.#heartbeatTimeoutMs =
      heartbeatTimeoutMs ??
      Math.min(LONGEST_HEARTBEAT_TIMEOUT_MS, Math.max(LEAST_HEARTBEAT_TIMEOUT_MS, heartbeatMs / 2));
  }

  get connected(): boolean {
    return this.#state.at === 'listening';
  }

  /** Makes the first connection; a failure is reported and retried like any later one. */
  async start(): Promise<void> {
    await this.#connect();
  }

  async stop(): Promise<void> {
    const listening = this.#state.at === 'listening' ? this.#state.client : undefined;
    this.#enter({ at: 'stopped' }, listening && (() => undefined));
    if (listening) await sayGoodbye(listening);
  }

  /** Drops the connection and makes a new one at once: after a clock gap the old one may be dead. */
  reconnect(): void {
    if (this.#state.at === 'stopped') return;
    this.#failures = 0;
    void this.#connect();
  }

  /**
   * Somebody says that there is work: a connection that was silent lately is proved, and made anew
   * when it gives no answer; without one the next try is made now. A host may have frozen the
   * process, and the network forgotten its connection.
   */
  async check(): Promise<void> {
    switch (this.#state.at) {
      case 'stopped':
      case 'connecting':
        return;
      case 'waiting':
        return this.#connect();
      case 'listening':
        if (performance.now() - this.#state.heardAt < FRESH_MS) return;
        return this.#prove(this.#state, Math.min(CHECK_TIMEOUT_MS, this.#heartbeatTimeoutMs));
    }
  }

  async #connect(): Promise<void> {
    const { channels, onWake } = this.#options;
    const client = this.#makeClient();
    this.#enter({ at: 'connecting', client });
    try {
      await client.connect();
      for (const channel of channels) {
        await client.query(`LISTEN ${client.escapeIdentifier(channel)}`);
      }
    } catch (error) {
      this.#lost(client, error);
      return;
    }
    if (!this.#holds(client)) return;
    const now = performance.now();
    const listening: Listening = {
      at: 'listening',
      client,
      since: now,
      heardAt: now,
      heartbeat: undefined,
      proof: undefined,
    };
    this.#enter(listening);
    this.#beatLater(listening);
    onWake('connected', null);
  }

  #makeClient(): pg.Client {
    const { name, connectionString, onWake } = this.#options;
    const client = new pg.Client({
      connectionString,
      application_name: `${name} listener`,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: CONNECT_TIMEOUT_MS,
      keepAlive: true,
    });
    client.on('error', (error) => this.#lost(client, error));
    client.on('end', () => this.#lost(client, new Error('the connection ended')));
    client.on('notification', ({ channel }) => {
      // One that comes before LISTEN is answered is covered by the look after it.
      if (this.#state.at !== 'listening' || this.#state.client !== client) return;
      this.#state.heardAt = performance.now();
      onWake('notified', channel);
    });
    return client;
  }

  #beatLater(listening: Listening): void {
    clearTimeout(listening.heartbeat);
    listening.heartbeat = setTimeout(
      () => void this.#prove(listening, this.#heartbeatTimeoutMs),
      this.#options.heartbeatMs,
    ).unref();
  }

  /** Asks for a sign of life; without one in time the connection is lost. */
  #prove(listening: Listening, withinMs: number): Promise<void> {
    listening.proof ??= this.#ask(listening, withinMs).finally(() => {
      listening.proof = undefined;
    });
    return listening.proof;
  }

  async #ask(listening: Listening, withinMs: number): Promise<void> {
    const { client } = listening;
    try {
      // Known to node-postgres (pg/lib/client.js) and not to its types.
      const question = { text: 'SELECT 1', query_timeout: withinMs };
      await client.query(question);
    } catch (error) {
      this.#lost(client, error);
      return;
    }
    if (!this.#holds(client)) return;
    listening.heardAt = performance.now();
    this.#beatLater(listening);
  }

  #lost(client: pg.Client, error: unknown): void {
    if (!this.#holds(client)) return;
    const delayMs = this.#reconnectDelayMs(error);
    const when = delayMs === 0 ? 'at once' : `in ${delayMs} ms`;
    const timer = setTimeout(() => void this.#connect(), delayMs);
    this.#enter({ at: 'waiting', timer });
    this.#options.onProblem(
      `Listening for "${this.#options.channels[0]}" failed; trying again ${when}`,
      error,
    );
  }

  #reconnectDelayMs(error: unknown): number {
    const first = this.#firstReconnectMs;
    const state = this.#state;
    // One that is lost as soon as it is made would be made without end.
    if (state.at === 'listening' && performance.now() - state.since >= first) {
      this.#failures = 0;
      return 0;
    }
    if (databaseErrorCode(error) === STARTING_UP) return first;
    const delayMs = Math.min(LONGEST_RECONNECT_MS, first * 2 ** this.#failures);
    this.#failures += 1;
    return delayMs;
  }

  #holds(client: pg.Client): boolean {
    const { client: held } = { client: undefined, ...this.#state };
    return held === client;
  }

  /** Ends what the state before had, unless the next one goes on with it. */
  #enter(next: State, end: (client: pg.Client) => void = destroy): void {
    const before = this.#state;
    this.#state = next;
    if (before.at === 'waiting') clearTimeout(before.timer);
    if (before.at === 'listening') clearTimeout(before.heartbeat);
    if ('client' in before && !this.#holds(before.client)) end(before.client);
  }
}

// Never pooled: a pooled client would keep its LISTEN and wake the outbox for whoever borrows it next.
// With an error, as else a connect that is under way would never settle.
function destroy(client: pg.Client): void {
  client.connection.stream.destroy(new Error('The listener dropped its connection'));
}

/** Ends a connection in order; one that does not answer is dropped. */
async function sayGoodbye(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => destroy(client), GOODBYE_MS);
  await client.end().catch(() => undefined);
  clearTimeout(timer);
}
