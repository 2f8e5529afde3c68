import { describe, expect, test } from 'vitest';

import { classifyResponse } from './classify-response.js';

const NOW = Date.parse('2026-11-29T12:00:00Z');
const classify = (status: number, retryAfter?: string) => classifyResponse(status, retryAfter, NOW);

describe('what an answer means', () => {
  test.each([200, 201, 202, 204, 299])('%d is a delivery', (status) => {
    expect(classify(status)).toEqual({ verdict: 'delivered' });
  });

  test('410 holds the lane', () => {
    expect(classify(410)).toMatchObject({ verdict: 'hold', reason: 'gone' });
  });

  test.each([
    [301, 'redirect_not_followed'],
    [302, 'redirect_not_followed'],
    [304, 'redirect_not_followed'],
    [307, 'redirect_not_followed'],
    [308, 'redirect_not_followed'],
    [400, 'http_4xx'],
    [401, 'http_4xx'],
    [404, 'http_4xx'],
    [422, 'http_4xx'],
    [500, 'http_5xx'],
    [502, 'http_5xx'],
    [599, 'http_5xx'],
    [600, 'http_unknown_status'],
    [999, 'http_unknown_status'],
  ])('%d is tried again: receivers deploy broken code', (status, reason) => {
    const verdict = classify(status, '60');
    expect(verdict).toMatchObject({ verdict: 'retry', reason });
    // Only 429 and 503 may slow a lane.
    expect(verdict).not.toHaveProperty('retryAfterMs');
    expect(verdict).not.toHaveProperty('slowsLane');
  });

  test.each([429, 503])('%d makes the whole lane wait, as long as it asks for', (status) => {
    expect(classify(status, '60')).toMatchObject({
      verdict: 'retry',
      slowsLane: true,
      retryAfterMs: 60_000,
    });
    expect(classify(status, 'when we feel like it')).toMatchObject({
      verdict: 'retry',
      slowsLane: true,
    });
    expect(classify(status)).not.toHaveProperty('retryAfterMs');
  });
});
