import type { ClaimedJob } from '@ghost/queue';
import { createTransport } from 'nodemailer';
import { expect, onTestFinished, test } from 'vitest';

import { ID, mail } from '../../../../test/support/email-sender.js';
import { mailCatcher } from '../../../../test/support/servers-of-a-test.js';
import { Abort } from '../abort.js';
import { prepareMails } from './prepare-mails.js';
import { Relay } from './relay.js';
import { trackProgress } from './smtp-session.js';

const ADDRESS = 'Ada@Readers.example';
const CLAIMED: ClaimedJob = {
  ...{ id: ID, leaseNo: 1, lane: 'mail:readers.example', kind: 'email', version: 1, eventId: ID },
  ...{ repositoryId: null, accountId: null, ownerId: null, host: null, slow: false },
  ...{ attempts: 0, tries: 0, redelivery: false, expiresAtMs: Infinity, leaseEndsAt: Infinity },
  job: { version: 1, kind: 'email', message: mail({ to: { name: '', address: ADDRESS } }) },
};

/** Sends one mail, so long after its batch was claimed; the address is suppressed meanwhile. */
async function sentAfter(ms: number) {
  const relay = await mailCatcher();
  const transport = createTransport({ ...{ pool: true, host: '127.0.0.1' }, port: relay.port });
  onTestFinished(() => transport.close());
  trackProgress(transport);
  let now = 0;
  let asked = 0;
  const send = await prepareMails({
    transport,
    relay: new Relay({
      connections: 1,
      pause: async () => ({ failures: 1, pauseMs: 5_000 }),
      monotonic: () => now,
    }),
    queue: { confirm: async () => 'current' },
    suppressions: {
      among: async (addresses) => {
        asked += 1;
        return new Set(asked === 1 ? [] : addresses.map((address) => address.toLowerCase()));
      },
      note: async () => undefined,
    },
    monotonic: () => now,
    now: () => Date.now(),
  })([CLAIMED]);
  now += ms;
  const { outcome } = await send(CLAIMED, new Abort());
  return { outcome, asked, mails: relay.mails().length };
}

test('an address that was suppressed while its mail waited for its turn gets none', async () => {
  expect(await sentAfter(60_000)).toEqual({
    outcome: { verdict: 'cancelled', reason: 'address_suppressed' },
    asked: 2,
    mails: 0,
  });
});

test('a mail that goes at once costs no second question', async () => {
  expect(await sentAfter(50)).toMatchObject({
    outcome: { verdict: 'delivered' },
    asked: 1,
    mails: 1,
  });
});
