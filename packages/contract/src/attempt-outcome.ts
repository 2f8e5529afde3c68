/** Milliseconds of each phase of an attempt; a phase that was not reached is absent. */
export interface AttemptTimings {
  dns?: number;
  connect?: number;
  tls?: number;
  firstByte?: number;
  total: number;
}

/** What one try was and got: facts only, already storable (no NUL, valid UTF-8, truncated, no credentials). */
export interface AttemptFacts {
  /** ISO 8601, the worker's clock: for people, never compared with the database's. */
  startedAt: string;
  timings: AttemptTimings;
  /** HTTP status, or the SMTP reply code. */
  status?: number;
  requestHead?: Record<string, string>;
  responseHead?: Record<string, string>;
  bodyExcerpt?: string;
  /** One plain sentence for the owner, without address, port or credential. */
  message?: string;
}

/**
 * What a sender says of a claimed job. A receiver's fault is a value here, never an exception.
 * `reason` is a stable code in snake_case.
 */
export type AttemptOutcome =
  | { verdict: 'delivered'; facts: AttemptFacts }
  /**
   * Try again by the back-off; `retryAfterMs` is the receiver's wish, `slowsLane` makes the whole lane wait,
   * `restsRelay` every mail.
   */
  | {
      verdict: 'retry';
      reason: string;
      facts: AttemptFacts;
      retryAfterMs?: number;
      slowsLane?: boolean;
      restsRelay?: boolean;
    }
  /** Permanently refused; `suppress` names the address that must get no mail any more. */
  | { verdict: 'dead'; reason: string; facts: AttemptFacts; suppress?: string }
  /** Charged, stays pending, and the lane is held until a person or policy resumes it (410, unreadable secret, forbidden literal). */
  | { verdict: 'hold'; reason: string; facts: AttemptFacts | null }
  /** The reason to send is gone: not charged. */
  | { verdict: 'cancelled'; reason: string }
  /**
   * The relay itself is at fault: nobody's job is charged, the relay rests. `putBack`: it knew the mail
   * already, which might be the cause after all, so others are tried before it.
   */
  | {
      verdict: 'relay_paused';
      reason: string;
      pauseMs: number;
      facts: AttemptFacts;
      putBack: boolean;
    }
  /** Not tried, or broken off by us (shutdown, lost lease): given back, not charged. */
  | { verdict: 'released'; reason: string };

/** How an address is kept from further mail: for good, for a while, or after two on different days. */
export type Suppression = 'hard' | 'soft' | 'strike';
