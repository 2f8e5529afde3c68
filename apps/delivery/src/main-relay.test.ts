import { jobOfBounceAddress } from '@ghost/vault';
import { describe, expect, test } from 'vitest';

import { deliveryProcesses } from '../../../test/support/delivery-processes.js';
import { keyRing } from '../../../test/support/delivery-seed.js';
import { startMailCatcher } from '../../../test/support/mail-catcher.js';
import { startScriptedSmtp } from '../../../test/support/scripted-smtp.js';
import { waitUntil } from '../../../test/support/wait-until.js';
import { relayPauseMs } from './rules/relay-pause.js';

const MAILS_A_SECOND = 40;
const WINDOW_MS = 500;

const ran = deliveryProcesses();

describe('mails', () => {
  test('a mail whose address is its reader’s no longer is cancelled, and the relay gets none', async () => {
    const relay = await startMailCatcher();
    ran.cleanups.push(() => relay.stop());
    const [gone, kept] = await ran.seed.mails(['gone@one.example', 'kept@one.example']);
    await ran.seed.pool.query(`DELETE FROM email_address WHERE address = 'gone@one.example'`);
    await ran.startDelivery({ GHOST_SMTP_URL: relay.url });
    const ended = async () => (await ran.seed.jobs()).filter(({ status }) => status !== 'pending');
    await waitUntil(async () => (await ended()).length === 2, { what: 'both mails to end' });
    expect(await ended()).toMatchObject([
      { id: gone, status: 'cancelled', attempts: 0, tries: 0, lastError: 'address_removed' },
      { id: kept, status: 'delivered' },
    ]);
    expect(relay.mails().map(({ envelope }) => envelope.to)).toEqual([['kept@one.example']]);
  });

  test('each mail has a return path of its own where there is a domain for them', async () => {
    const relay = await startMailCatcher();
    ran.cleanups.push(() => relay.stop());
    const ids = await ran.seed.mails(['ada@one.example', 'ben@two.example']);
    await ran.startDelivery({ GHOST_SMTP_URL: relay.url, GHOST_VERP_DOMAIN: 'bounces.example' });
    await relay.waitForMails(2);
    const paths = relay.mails().map(({ envelope }) => envelope.from);
    for (const path of paths) expect(path).toMatch(/^b-[a-z2-7]{52}@bounces\.example$/u);
    expect(new Set(paths.map((path) => jobOfBounceAddress(keyRing(), path)))).toEqual(new Set(ids));
  });

  test('a relay that answers and refuses stops nobody: mails wait, webhooks go out', async () => {
    const relay = await startMailCatcher({ auth: { user: 'ghost', pass: 'right' } });
    ran.cleanups.push(() => relay.stop());
    const target = await ran.receiver();
    const delivery = await ran.startDelivery({
      GHOST_SMTP_URL: relay.url.replace('smtp://', 'smtp://ghost:wrong@'),
    });
    await ran.seed.mails(['ada@one.example']);
    await ran.seed.webhooks([await ran.seed.hook(target.url)]);
    await target.waitForRequests(1);
    expect(delivery.logged()).toContainEqual(
      expect.objectContaining({ event: 'delivery.relay_refuses', code: 535 }),
    );
    expect(delivery.lines().join('\n')).not.toContain('wrong');
    const mails = (await ran.seed.jobs()).filter(({ lastError }) => lastError === null);
    expect(mails).toContainEqual(expect.objectContaining({ status: 'pending', attempts: 0 }));
  });

  test('a relay that refuses while its rest cannot be stored stops nobody either', async () => {
    const relay = await startMailCatcher({ auth: { user: 'ghost', pass: 'right' } });
    ran.cleanups.push(() => relay.stop());
    const holder = await ran.seed.pool.connect();
    ran.cleanups.push(() => holder.release());
    await holder.query('BEGIN; LOCK TABLE delivery_relay IN ACCESS EXCLUSIVE MODE');
    const starting = ran.startDelivery({
      GHOST_SMTP_URL: relay.url.replace('smtp://', 'smtp://ghost:wrong@'),
    });
    // Nothing tells of the end of a rest that is not stored yet.
    await holder.query('SELECT pg_sleep($1)', [(relayPauseMs(1) + 1_000) / 1_000]);
    await holder.query('COMMIT');
    expect(await (await starting).stop()).toEqual({ code: 0, signal: null });
  }, 30_000);

  test('a relay that faults rests, and is tried again by itself when it has rested', async () => {
    let connections = 0;
    const relay = await startMailCatcher({
      onConnect: () => {
        connections += 1;
        // The first is the check at the start.
        return connections === 2 ? { code: 421, text: '4.3.2 Shutting down' } : undefined;
      },
    });
    ran.cleanups.push(() => relay.stop());
    const delivery = await ran.startDelivery({ GHOST_SMTP_URL: relay.url });
    await ran.seed.mails(['ada@one.example']);
    await relay.waitForMails(1, 15_000);
    await ran.allDelivered();
    expect(delivery.logged()).toContainEqual(
      expect.objectContaining({ event: 'delivery.attempted', outcome: 'released' }),
    );
    expect(await ran.seed.jobs()).toMatchObject([{ tries: 1 }]);
  }, 30_000);

  test('no relay at all is said, and mails wait', async () => {
    const target = await ran.receiver();
    const delivery = await ran.startDelivery();
    await ran.seed.mails(['ada@one.example']);
    await ran.seed.webhooks([await ran.seed.hook(target.url)]);
    await target.waitForRequests(1);
    expect(delivery.logged()).toContainEqual(
      expect.objectContaining({ event: 'delivery.mails_held' }),
    );
    expect(await delivery.stop()).toEqual({ code: 0, signal: null });
    expect(await ran.seed.jobs()).toContainEqual(
      expect.objectContaining({ status: 'pending', attempts: 0, leaseNo: 0 }),
    );
  });

  test('two processes together keep to the rate of the relay', async () => {
    const came: number[] = [];
    const relay = await startScriptedSmtp({
      answer: ({ phase }) => void (phase === 'mail' && came.push(performance.now())),
    });
    ran.cleanups.push(() => relay.stop());
    const rated = {
      GHOST_SMTP_URL: `smtp://127.0.0.1:${relay.port}`,
      GHOST_RELAY_RATE: String(MAILS_A_SECOND),
    };
    const processes = await Promise.all([ran.startDelivery(rated), ran.startDelivery(rated)]);
    const to = Array.from({ length: 60 }, (_, n) => `reader${n}@d${n % 6}.example`);
    await ran.seed.mails(to);
    await ran.allDelivered();
    const tookMs = (came.at(-1) ?? 0) - (came[0] ?? 0);
    // A busy machine brings some late, the first one too; each process with a rate of its own would take half as long.
    expect(tookMs).toBeGreaterThan(((to.length - 1) / MAILS_A_SECOND) * 1_000 * 0.8);
    expect(relay.accepted.toSorted()).toEqual(to.toSorted());
    const sentBy = processes.map(
      (one) => one.logged().filter(({ outcome }) => outcome === 'delivered').length,
    );
    // Each has its part; alone one would take as long.
    expect(Math.min(...sentBy)).toBeGreaterThan(to.length / 6);
    const most = Math.max(
      ...came.map((from, n) => came.slice(n).filter((at) => at - from < WINDOW_MS).length),
    );
    expect(most).toBeLessThanOrEqual(((MAILS_A_SECOND * WINDOW_MS) / 1_000) * 1.5);
  }, 30_000);
});
