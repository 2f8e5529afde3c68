import { expect, test } from 'vitest';

import { playMails } from '../../../test/support/play-mails.js';
import type { SmtpAnswer, SmtpPhase } from '../../../test/support/scripted-smtp.js';
import { startMailWorker } from '../../../test/support/mail-worker.js';
import { waitUntil } from '../../../test/support/wait-until.js';

const MAILS = 40;
const DOMAINS = 8;
const FAULTS = 25;
/** A few seconds; more where others load the machine. */
const WITHIN_MS = 50_000;
/** Of the moments in which there could be one. */
const FAULT_SHARE = 0.15;

const CUT: SmtpAnswer = { drop: true };
const SILENCE: SmtpAnswer = { silence: true };
/** What a relay may do to any mail, and no mail dies of. */
const POSSIBLE: Partial<Record<SmtpPhase, readonly SmtpAnswer[]>> = {
  banner: [CUT, SILENCE, '421 4.3.2 Busy', '554 5.3.2 No', 'What?'],
  ehlo: [CUT, SILENCE, '421 4.3.2 Busy'],
  mail: [CUT, SILENCE, '421 4.3.2 Busy', '452 4.3.1 Full', '550 5.7.1 Who?', '530 5.7.0 Log in'],
  rcpt: [
    CUT,
    SILENCE,
    '421 4.7.0 Busy',
    '450 4.2.0 Later',
    '503 5.5.1 What?',
    '554 5.7.1 Relaying denied',
  ],
  data: [CUT, SILENCE, '421 4.7.0 Busy', '450 4.3.0 Later'],
  dot: [CUT, SILENCE, '421 4.3.2 Busy', '451 4.3.0 Later', { drop: true, after: '250 fine' }],
};

/** Numbers from 0 up to 1 that a seed repeats (Numerical Recipes). */
function drawn(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

test.each([
  [1, []],
  [2, ['PIPELINING']],
])(
  'two workers, and a relay with a fault at any moment: each mail arrives, once but for what it left uncertain (%i)',
  async (number, offers) => {
    const random = drawn(number);
    let left = FAULTS;
    const to = Array.from({ length: MAILS }, (_, n) => `r${n}@d${n % DOMAINS}.example`);
    const settings = {
      // A mail that nothing is done to takes less, on a busy machine too.
      times: { toTheDotMs: 600, afterTheDotMs: 600 },
      pauses: { firstMs: 5, longestMs: 20 },
    };
    const { relay, seed, databaseUrl, hurry, suppressed } = await playMails(
      ({ phase }) => {
        const faults = POSSIBLE[phase];
        if (!faults || left === 0 || random() > FAULT_SHARE) return undefined;
        left -= 1;
        return faults[Math.floor(random() * faults.length)];
      },
      { ...settings, to, offers },
    );
    await startMailWorker(databaseUrl, { ...settings, relayUrl: `smtp://127.0.0.1:${relay.port}` });
    const ended = async () => {
      await hurry();
      return (await seed.jobs()).every(({ status }) => status !== 'pending');
    };
    await waitUntil(ended, { what: 'all mails to end', everyMs: 100, timeoutMs: WITHIN_MS });
    expect(left).toBe(0);
    const attempts = await seed.attempts();
    for (const [index, job] of (await seed.jobs()).entries()) {
      const own = attempts.filter(({ jobId }) => jobId === job.id);
      const uncertain = own.filter(({ reason }) => reason === 'uncertain').length;
      const copiesIn = (mails: readonly string[]) =>
        mails.filter((reader) => reader === to[index]).length;
      expect(job).toMatchObject({ status: 'delivered' });
      expect(job.attempts).toBe(own.filter((attempt) => attempt.number !== null).length);
      expect(copiesIn(relay.accepted)).toBeGreaterThanOrEqual(1);
      expect(copiesIn(relay.accepted)).toBeLessThanOrEqual(1 + uncertain);
      // Each copy is a try that the history holds.
      expect(copiesIn(relay.came)).toBeLessThanOrEqual(own.length);
    }
    expect(await suppressed()).toEqual([]);
  },
  WITHIN_MS + 10_000,
);
