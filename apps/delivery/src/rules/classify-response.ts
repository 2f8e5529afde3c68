import { retryAfterMs } from './retry-after.js';

/** What a complete response head means for the job; `message` is one sentence for the owner. */
export type ResponseVerdict =
  | { verdict: 'delivered' }
  | {
      verdict: 'retry';
      reason: string;
      message: string;
      slowsLane?: true;
      retryAfterMs?: number;
    }
  | { verdict: 'hold'; reason: string; message: string };

/**
 * The rule for HTTP answers (DESIGN §7): 2xx is a delivery, 410 holds, everything else retries, as
 * receivers deploy broken code; 429 and 503 make the whole lane wait, as long as they ask for.
 */
export function classifyResponse(
  status: number,
  retryAfter: string | undefined,
  nowMs: number,
): ResponseVerdict {
  if (status >= 200 && status < 300) return { verdict: 'delivered' };
  if (status === 410) {
    return {
      verdict: 'hold',
      reason: 'gone',
      message: 'The endpoint answered 410 Gone, so its deliveries are held until it is resumed.',
    };
  }
  if (status === 429 || status === 503) {
    const waitMs = retryAfterMs(retryAfter, nowMs);
    return {
      verdict: 'retry',
      reason: status === 429 ? 'rate_limited' : 'unavailable',
      message: `The endpoint answered ${status} and asked for a pause.`,
      slowsLane: true,
      ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
    };
  }
  if (status >= 300 && status < 400) {
    return {
      verdict: 'retry',
      reason: 'redirect_not_followed',
      message: `The endpoint answered ${status}, a redirect. Redirects are not followed: set the URL that it leads to.`,
    };
  }
  return {
    verdict: 'retry',
    reason: reasonOf(status),
    message: `The endpoint answered ${status}.`,
  };
}

function reasonOf(status: number): string {
  if (status >= 400 && status < 500) return 'http_4xx';
  if (status >= 500 && status < 600) return 'http_5xx';
  return 'http_unknown_status';
}
