import { describe, expect, test } from 'vitest';

import { paceAfter } from './step-pace.js';

describe('the pace of steps', () => {
  test('keeps a step at about 10 ms, and grows no faster than it can be seen', () => {
    expect(paceAfter(200, 20).rows).toBe(100);
    expect(paceAfter(200, 10).rows).toBe(200);
    expect(paceAfter(200, 1).rows).toBe(300);
    expect(paceAfter(200, 0).rows).toBe(300);
    expect(paceAfter(200, 10_000).rows).toBe(50);
  });

  test('stays within 20 to 1,000 rows a kind', () => {
    expect(paceAfter(1_000, 1).rows).toBe(1_000);
    expect(paceAfter(20, 5_000).rows).toBe(20);
  });

  test('rests three times as long as the step took', () => {
    expect(paceAfter(200, 30).pauseMs).toBe(90);
    expect(paceAfter(200, 1).pauseMs).toBe(10);
  });
});
