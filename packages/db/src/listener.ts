import pg from 'pg';

export const OUTBOX_CHANNEL = 'ghost_outbox';
export const DELIVERY_CHANNEL = 'ghost_delivery';

const FIRST_RECONNECT_MS = 5000;
const LONGEST_RECONNECT_MS = 60_000;
const CONNECT_TIMEOUT_MS = 5000;
const HEARTBEAT_TIMEOUT_MS = 10_000;

export interface ListenerOptions {
  connectionString: string;
  channel: typeof OUTBOX_CHANNEL | typeof DELIVERY_CHANNEL;
  name: string;
  /** Called at each notification, and after each (re)connect: what was committed meanwhile sent none. */
  onWake: (why: 'notified' | 'connected') => void;
  onProblem: (message: string, error: unknown) => void;
  /** An idle LISTEN connection sends nothing; the heartbeat finds the one that is half open. */
  heartbeatMs: number;
  firstReconnectMs?: number;
  /** How long a heartbeat may stay without an answer. */
  heartbeatTimeoutMs?: number;
}

/**
 * Listens on a connection of its own until stopped: reconnects for ever, after 5 s, then with a
 * capped back-off. A dropped client is destroyed and keeps its error handler, so that a late error
 * cannot crash the process.
 */
export class Listener {
  readonly #options: ListenerOptions;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #failures = 0;
  #stopped = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  get connected(): boolean {
    return this.#client !== undefined;
  }

  /** Makes the first connection; a failure is reported and retried like any later one. */
  async start(): Promise<void> {
    await this.#connect();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#drop();
    await client?.end().catch(() => undefined);
  }

  /** Drops the connection and makes a new one at once; for a process that slept through a clock gap. */
  reconnect(): void {
    this.#drop();
    clearTimeout(this.#timer);
    this.#failures = 0;
    void this.#connect();
  }

  async #connect(): Promise<void> {
    if (this.#stopped) return;
    const { channel, name, connectionString, onWake, heartbeatTimeoutMs } = this.#options;
    const client = new pg.Client({
      connectionString,
      application_name: `${name} listener`,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: heartbeatTimeoutMs ?? HEARTBEAT_TIMEOUT_MS,
      keepAlive: true,
    });
    client.on('error', (error) => this.#lost(client, error));
    client.on('end', () => this.#lost(client, new Error('the connection ended')));
    client.on('notification', () => {
      if (this.#client === client) onWake('notified');
    });
    try {
      await client.connect();
      await client.query(`LISTEN ${client.escapeIdentifier(channel)}`);
    } catch (error) {
      destroy(client);
      this.#retry(error);
      return;
    }
    if (this.#stopped) {
      destroy(client);
      return;
    }
    this.#client = client;
    this.#failures = 0;
    this.#beat(client);
    onWake('connected');
  }

  #beat(client: pg.Client): void {
    this.#heartbeat = setInterval(() => {
      client.query('SELECT 1').catch((error: unknown) => this.#lost(client, error));
    }, this.#options.heartbeatMs);
    this.#heartbeat.unref();
  }

  #lost(client: pg.Client, error: unknown): void {
    if (this.#client !== client) return;
    this.#drop();
    this.#retry(error);
  }

  #drop(): void {
    clearInterval(this.#heartbeat);
    const client = this.#client;
    this.#client = undefined;
    if (client) destroy(client);
  }

  #retry(error: unknown): void {
    if (this.#stopped) return;
    const first = this.#options.firstReconnectMs ?? FIRST_RECONNECT_MS;
    const delayMs = Math.min(LONGEST_RECONNECT_MS, first * 2 ** this.#failures);
    this.#failures += 1;
    this.#options.onProblem(
      `Listening for "${this.#options.channel}" failed; trying again in ${delayMs} ms`,
      error,
    );
    this.#timer = setTimeout(() => void this.#connect(), delayMs);
  }
}

// Never pooled: a pooled client would keep its LISTEN and wake the outbox for whoever borrows it next.
function destroy(client: pg.Client): void {
  client.removeAllListeners('notification');
  client.end().catch(() => undefined);
  client.connection.stream.destroy();
}
