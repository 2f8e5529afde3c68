/** Injection tokens of what the composition root makes; each is injected by `@Inject(TOKEN)`. */

/** `Settings` of `@ghost/settings`, read once at start. */
export const SETTINGS = Symbol('SETTINGS');
/** The process's pino `Logger`. */
export const LOGGER = Symbol('LOGGER');
/** The process's only `Pool`. */
export const POOL = Symbol('POOL');
/** Drizzle's `Database` over the pool. */
export const DATABASE = Symbol('DATABASE');
/** A {@link DatabaseConnection}: what a listener needs to connect by itself. */
export const DATABASE_CONNECTION = Symbol('DATABASE_CONNECTION');
/** The `Queue` of `@ghost/queue`. */
export const QUEUE = Symbol('QUEUE');

export interface DatabaseConnection {
  /** A direct connection string: LISTEN does not work through a pooler. */
  listenUrl: string;
  heartbeatMs: number;
}
