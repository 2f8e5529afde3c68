/** What came in since the last reset. */
export interface Receipts {
  count: number;
  /** On the clock of `nowMs`; 0 when nothing came. */
  firstMs: number;
  lastMs: number;
}

/** A server that answers 200 as cheaply as can be, and counts. */
export interface Receiver {
  /** "nginx" or "bundled (Node)". */
  readonly kind: string;
  readonly port: number;
  readonly pid: number;
  /** Forgets what came in. With `times` it notes when each webhook came. */
  reset(options: { times: boolean }): Promise<void>;
  receipts(): Promise<Receipts>;
  /** When each webhook came first, by its `webhook-id`, on the clock of `nowMs`. */
  times(): Promise<Map<string, number>>;
  stop(): Promise<void>;
}
