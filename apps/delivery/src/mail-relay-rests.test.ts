import { expect, test } from 'vitest';

import { startMailWorker } from '../../../test/support/mail-worker.js';
import { always, playMails } from '../../../test/support/play-mails.js';
import { relayPauseMs } from './rules/relay-pause.js';

// Long enough for the faults of both workers to fall into one rest.
const PAUSES = { firstMs: 200, longestMs: 800 };
const RESTS = 3;

/** The pauses before the n-th fault, all of which were waited for. */
function restedMs(failures: number): number {
  const before = Array.from({ length: failures - 1 }, (_, n) => relayPauseMs(n + 1, PAUSES));
  return before.reduce((sum, ms) => sum + ms, 0);
}

test('the rests of a relay are counted over all workers, and a new one goes on with the count', async () => {
  const startedAt = performance.now();
  const to = Array.from({ length: 30 }, (_, n) => `r${n}@d${n % 6}.example`);
  const { relay, rests, until, seed, databaseUrl } = await playMails(
    always('banner', { drop: true }),
    { to, pauses: PAUSES },
  );
  const join = () =>
    startMailWorker(databaseUrl, {
      relayUrl: `smtp://127.0.0.1:${relay.port}`,
      pauses: PAUSES,
    });
  const counts = (lines: readonly Record<string, unknown>[]) =>
    lines
      .filter(({ event }) => event === 'delivery.relay_rests')
      .map(({ failures }) => Number(failures));
  const other = await join();
  await until('three rests', () => Math.max(0, ...counts(rests())) >= RESTS);
  // Whoever met the fault first, and whether the other one did: nobody has counted one rest twice.
  const all = [...counts(rests()), ...counts(other.lines)];
  expect(new Set(all)).toEqual(new Set(Array.from({ length: Math.max(...all) }, (_, n) => n + 1)));
  expect(performance.now() - startedAt).toBeGreaterThan(restedMs(Math.max(...all)));
  const { rows } = await seed.pool.query('SELECT failures FROM delivery_relay');
  expect(rows).toEqual([{ failures: Math.max(...all) }]);
  const late = await join();
  await until('a rest of the new one', () => counts(late.lines).length > 0);
  expect(counts(late.lines)[0]).toBeGreaterThan(Math.max(...all));
});
