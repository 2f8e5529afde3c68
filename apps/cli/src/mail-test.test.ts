import { describe, expect, test } from 'vitest';

import { deliveryProcesses } from '../../../test/support/delivery-processes.js';
import { ghost } from '../../../test/support/ghost-cli.js';
import { type MailCatcherOptions, startMailCatcher } from '../../../test/support/mail-catcher.js';

const ADDRESS = 'ada@people.example';

const ran = deliveryProcesses();

const mailTest = (...args: string[]) =>
  ghost(['mail', 'test', ADDRESS, ...args], {
    DATABASE_URL: ran.database.url,
    GHOST_MAIL_FROM: 'Code <bot@code.example>',
  });

async function relay(options: MailCatcherOptions = {}) {
  const started = await startMailCatcher(options);
  ran.cleanups.push(() => started.stop());
  return started;
}

describe('ghost mail test', () => {
  test('sends a mail through delivery, and tells what the relay said', async () => {
    const catcher = await relay();
    await ran.startDelivery({ GHOST_SMTP_URL: catcher.url });
    const told = await mailTest();
    expect(told.code).toBe(0);
    expect(told.err).toMatch(/^Queued: mail \S+ from bot@code\.example/u);
    expect(told.out).toMatch(/^The relay took it in \d+ ms: 250 /u);
    const [mail] = await catcher.waitForMails(1);
    expect(mail?.envelope).toEqual({ from: 'bot@code.example', to: [ADDRESS] });
    expect(mail?.raw.toString()).toContain('Subject: [Code] Test mail');
  });

  test('tells a refusal of the address, word for word', async () => {
    const catcher = await relay({ onRcptTo: () => ({ code: 550, text: '5.1.1 No such user' }) });
    await ran.startDelivery({ GHOST_SMTP_URL: catcher.url });
    const told = await mailTest();
    expect(told.code).toBe(1);
    expect(told.out).toContain('550 5.1.1 No such user (address_unknown)');
    const again = await mailTest();
    expect(again).toMatchObject({ code: 1, out: '' });
    expect(again.err).toContain(`npx ghost mail suppressions lift ${ADDRESS}`);
  });

  test('tells a relay that is at fault itself, and when it is tried again', async () => {
    const catcher = await relay({
      onMailFrom: () => ({ code: 530, text: '5.7.0 STARTTLS first' }),
    });
    await ran.startDelivery({ GHOST_SMTP_URL: catcher.url });
    const told = await mailTest('--json');
    expect(told.code).toBe(1);
    expect(JSON.parse(told.out)).toMatchObject({
      status: 'pending',
      relayRests: { reason: 'relay_auth' },
    });
    expect((await mailTest()).out).toMatch(
      /the relay itself is at fault \(relay_auth\)\. It refuses the log-in of GHOST_SMTP_URL.* It is tried again at /u,
    );
  });

  test('tells what the relay said, and which setting it speaks of', async () => {
    const said = '550 5.7.1 Who are you';
    const catcher = await relay({
      onMailFrom: () => ({ code: 550, text: '5.7.1 Who are you' }),
    });
    await ran.startDelivery({ GHOST_SMTP_URL: catcher.url });
    expect((await mailTest()).out).toMatch(
      new RegExp(`\\(sender_refused\\)\\. .*GHOST_MAIL_FROM.*: ${said} It is tried again`, 'u'),
    );
  });

  test('tells that a lane is held, that nobody takes the mail, and what is no address', async () => {
    await ran.seed.pool.query(
      `SELECT delivery_hold('mail:people.example', 'email', 1::smallint, 'busy')`,
    );
    expect((await mailTest()).out).toContain('npx ghost lanes resume mail:people.example');
    await ran.seed.pool.query(`SELECT delivery_resume('mail:people.example')`);
    const alone = await mailTest('--wait', '1');
    expect(alone).toMatchObject({ code: 1 });
    expect(alone.out).toMatch(/^Nothing happened within 1 s\. .*npx ghost jobs show \S+\n$/u);
    const none = await ghost(['mail', 'test', 'nobody'], { DATABASE_URL: ran.database.url });
    expect(none.err).toContain('is no mail address');
  });
});
