import type { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';

/** How a slow server of a case goes about it. */
export interface Pace {
  /** Between two bytes of a drip. */
  dripMs: number;
}

/** One way to answer a webhook, and what must come of it. */
export interface HostileCase {
  what: string;
  /** The vector of test/fixtures/response-vectors.json that it plays. */
  vector?: string;
  /** `https` to a server that speaks no TLS by itself, or that has this certificate, and may have its own terms. */
  secure?: 'bare' | ({ cert: string; key: string } & SecureContextOptions);
  /** When it plays: at once, or (left out) when the request was read to its end. */
  at?: 'accept';
  play: (socket: Socket, pace: Pace) => void;
  /** Only because time is up; left out: by itself, before that. */
  ends?: 'at its deadline';
  expected: Expected;
}

export interface Expected {
  verdict: 'delivered' | 'retry' | 'hold';
  /** One of them. */
  reasons?: readonly string[];
  /** None where no answer counts as one. */
  status?: number;
  /** The whole excerpt. */
  body?: string;
  /** The connection may be used again: the answer has nothing wrong with it. */
  kept?: true;
}

export const delivered = (status = 200, more: Partial<Expected> = {}): Expected => ({
  verdict: 'delivered',
  status,
  ...more,
});

export const fails = (...reasons: string[]): Expected => ({ verdict: 'retry', reasons });

export const answers = (
  status: number,
  reason: string,
  more: Partial<Expected> = {},
): Expected => ({
  verdict: 'retry',
  reasons: [reason],
  status,
  ...more,
});
