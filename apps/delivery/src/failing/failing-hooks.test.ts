import type { AttemptOutcome } from '@ghost/contract';
import type { EndpointFault } from '@ghost/operations';
import type { ClaimedJob } from '@ghost/queue';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';

import { waitUntil } from '../../../../test/support/wait-until.js';
import { type AttemptReport, reportAttempt } from '../report-attempt.js';
import { FailingHooks } from './failing-hooks.js';

const DAY_MS = 86_400_000;
const FACTS = { startedAt: '2026-01-02T03:04:05.000Z', timings: { total: 1 } };

function report(hookId: number, outcome: Partial<AttemptOutcome> = {}): AttemptReport {
  const job = { version: 1, kind: 'webhook', hookId, event: 'ping', body: '' };
  return {
    claimed: { id: 'a', lane: `hook:${hookId}`, kind: 'webhook', tries: 0, job } as ClaimedJob,
    outcome: {
      verdict: 'retry',
      reason: 'http_5xx',
      facts: { ...FACTS, status: 500, message: 'The endpoint answered 500.' },
      ...outcome,
    } as AttemptOutcome,
    decision: {
      action: 'settle',
      outcome: 'retry',
      reason: 'http_5xx',
      charged: true,
      delayMs: 1,
      laneFault: 'failed',
      attempt: null,
    },
    settled: { id: 'a', leaseNo: 1, status: 'pending' },
    tookMs: 1,
    note: undefined,
  };
}

/** A watch over a database that knows which hooks are due. */
function watch(due: (asked: number[]) => number[] = () => [], periodMs = 3 * DAY_MS) {
  const looks: number[][] = [];
  const judged: EndpointFault[] = [];
  const lines: Record<string, unknown>[] = [];
  const clock = { now: 0 };
  const hooks = new FailingHooks({
    periodMs,
    find: async (faults) => {
      const asked = faults.map(({ hookId }) => hookId);
      looks.push(asked);
      return due(asked);
    },
    judge: async (fault) => {
      judged.push(fault);
      return 'warned';
    },
    monotonic: () => clock.now,
    gatherMs: 1,
    log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
  });
  onTestFinished(() => hooks.stop());
  const looked = (times: number) => waitUntil(() => looks.length === times, { what: 'a look' });
  return { hooks, looks, judged, lines, clock, looked };
}

test('any number of faults of a hook are one look in ten minutes, those of many hooks one together', async () => {
  const { hooks, looks, clock, looked } = watch();
  for (let times = 0; times < 1_000; times += 1) {
    for (const id of [1, 2, 3]) hooks.note(report(id));
  }
  await looked(1);
  clock.now = 599_999;
  hooks.note(report(1));
  clock.now = 600_000;
  hooks.note(report(2));
  await looked(2);
  expect(looks).toEqual([[1, 2, 3], [2]]);
});

test('who is due is judged by its newest fault, and the log tells what was done', async () => {
  const { hooks, judged, lines, looked } = watch((asked) => asked.filter((id) => id === 2));
  for (const id of [1, 2]) hooks.note(report(id));
  await looked(1);
  await waitUntil(() => lines.length > 0, { what: 'the line' });
  const fault = { reason: 'http_5xx', message: 'The endpoint answered 500.', status: 500 };
  expect(judged).toEqual([{ hookId: 2, ...fault, doubtful: false, held: false }]);
  expect(lines).toMatchObject([
    { event: 'delivery.hook_warned', hookId: 2, reason: 'http_5xx', level: 40 },
  ]);
});

test('what is our fault is no reason to look; what may be is said to be doubtful', async () => {
  const { hooks, looks, judged, looked } = watch((asked) => asked);
  for (const reason of ['forbidden_address', 'internal_error']) {
    hooks.note(report(1, { reason }));
  }
  hooks.note(report(2, { reason: 'dns_timeout', facts: FACTS }));
  await looked(1);
  await waitUntil(() => judged.length > 0, { what: 'the judgement' });
  expect(looks).toEqual([[2]]);
  expect(judged).toEqual([
    { hookId: 2, reason: 'dns_timeout', message: null, status: null, doubtful: true, held: false },
  ]);
});

test('what held a hook is judged at once and by itself, but for a secret that our keys do not open', async () => {
  const { hooks, looks, judged, looked } = watch();
  hooks.note(report(1));
  await looked(1);
  const facts = { ...FACTS, status: 410 };
  hooks.note(report(1, { verdict: 'hold', reason: 'gone', facts }));
  hooks.note(report(2, { verdict: 'hold', reason: 'secret_unreadable', facts: null }));
  hooks.note(report(3, { verdict: 'hold', reason: 'invalid_url', facts: null }));
  await waitUntil(() => judged.length === 2, { what: 'both' });
  const rest = { message: null, doubtful: false, held: true };
  expect(judged).toEqual([
    { hookId: 1, reason: 'gone', status: 410, ...rest },
    { hookId: 3, reason: 'invalid_url', status: null, ...rest },
  ]);
  expect(looks).toEqual([[1]]);
});

test('at the end only what held a hook is judged still: nothing would ask for that again', async () => {
  const { hooks, looks, judged } = watch((asked) => asked);
  hooks.note(report(1));
  hooks.note(report(2, { verdict: 'hold', reason: 'gone', facts: { ...FACTS, status: 410 } }));
  await hooks.stop();
  expect(judged).toMatchObject([{ hookId: 2, reason: 'gone' }]);
  expect(looks).toEqual([]);
  hooks.note(report(3, { verdict: 'hold', reason: 'gone', facts: FACTS }));
  await hooks.stop();
  expect(judged).toHaveLength(1);
});

test('a look that failed is made again at the next fault', async () => {
  let failing = true;
  const { hooks, looks, lines, looked } = watch(() => {
    if (failing) throw new Error('no database');
    return [];
  });
  hooks.note(report(1));
  await waitUntil(() => lines.length === 1, { what: 'the line' });
  expect(lines).toMatchObject([{ event: 'delivery.failing_hooks_failed', hooks: 1 }]);
  failing = false;
  hooks.note(report(1));
  await looked(2);
  expect(looks).toEqual([[1], [1]]);
});

test('what held a hook is judged again by itself where that failed, as nothing would ask for it', async () => {
  let failing = true;
  const { hooks, judged, lines } = watch(() => {
    if (failing) throw new Error('no database');
    return [];
  });
  hooks.note(report(1));
  hooks.note(report(2, { verdict: 'hold', reason: 'gone', facts: { ...FACTS, status: 410 } }));
  await waitUntil(() => lines.length > 0, { what: 'the failure' });
  // Of what was in flight when it was held.
  hooks.note(report(2));
  failing = false;
  await waitUntil(() => judged.length > 0, { what: 'the judgement' });
  expect(judged).toMatchObject([{ hookId: 2, reason: 'gone', held: true }]);
});

test('where hooks are never disabled, only what held one is heard of', async () => {
  const { hooks, looks, judged } = watch((asked) => asked, 0);
  hooks.note(report(1));
  hooks.note(report(2, { verdict: 'hold', reason: 'gone', facts: { ...FACTS, status: 410 } }));
  await waitUntil(() => judged.length > 0, { what: 'the judgement' });
  await hooks.stop();
  expect(judged).toMatchObject([{ hookId: 2, held: true }]);
  expect(looks).toEqual([]);
});

test('thousands of hooks are looked at 500 at a time', async () => {
  const { hooks, looks, looked } = watch();
  for (let id = 1; id <= 1_200; id += 1) hooks.note(report(id));
  await looked(3);
  expect(looks.map(({ length }) => length)).toEqual([500, 500, 200]);
});

test('only what was settled, and tells against its destination, is heard of', () => {
  const heard: AttemptReport[] = [];
  const to = {
    log: pino({ level: 'silent' }),
    onAttempt: () => undefined,
    onFault: (one: AttemptReport) => void heard.push(one),
  };
  const failed = report(1);
  reportAttempt(failed, to);
  reportAttempt({ ...failed, settled: null }, to);
  reportAttempt({ ...failed, decision: { action: 'release', reason: 'shutdown' } }, to);
  const { decision } = failed;
  if (decision.action !== 'settle') throw new Error('It was settled');
  const { laneFault: _none, ...delivered } = decision;
  reportAttempt({ ...failed, decision: { ...delivered, outcome: 'delivered' } }, to);
  expect(heard).toEqual([failed]);
  reportAttempt({ ...failed, decision: { ...delivered, outcome: 'held' } }, to);
  expect(heard).toHaveLength(2);
});
