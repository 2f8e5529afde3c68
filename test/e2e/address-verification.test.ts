import { expect, onTestFinished, test } from 'vitest';

import { startMailCatcher } from '../support/mail-catcher.js';
import { type RunningGhost, startGhost } from '../support/running-ghost.js';
import { waitUntil } from '../support/wait-until.js';

interface Email {
  email: string;
  primary: boolean;
  verified: boolean;
}

interface Mail {
  head: string;
  text: string;
}

function mailsTo(ghost: RunningGhost, address: string): Mail[] {
  const mails = ghost.mails.mails().filter(({ envelope }) => envelope.to.includes(address));
  return mails.map(({ raw }) => {
    const message = raw.toString('utf8');
    const end = message.indexOf('\r\n\r\n');
    // Quoted-printable (RFC 2045, 6.7): long lines are folded, and "=" is escaped.
    const text = message.slice(end).replaceAll('=\r\n', '').replaceAll('=3D', '=');
    return { head: message.slice(0, end), text };
  });
}

test('an address is verified by the mail that delivery sends, and gets mail once it is primary', async () => {
  const ghost = await startGhost();
  const [ada, brian] = [await ghost.person('ada'), await ghost.person('brian')];
  const isVerified = async () => {
    const emails = await ada.expect<Email[]>(200, 'GET', '/user/emails');
    return emails.find(({ email }) => email === 'ada@home.example')?.verified;
  };

  await ada.expect(201, 'POST', '/user/emails', { emails: ['ada@home.example'] });
  await ghost.settled();
  const [mail, ...more] = mailsTo(ghost, 'ada@home.example');
  expect(more).toEqual([]);
  expect(mail?.head).toMatch(/^auto-submitted: auto-generated\r$/imu);
  expect(mail?.head).toMatch(/^x-ghost-reason: verification\r$/imu);
  expect(mail?.head).not.toMatch(/^list-/imu);
  expect(mail?.text).toContain('The account "ada"');
  const link = /http:\S+\/api\/verify-address\/\S+/u.exec(mail?.text ?? '')?.[0] ?? '';

  // What a mail scanner does.
  for (const method of ['GET', 'HEAD']) expect((await fetch(link, { method })).status).toBe(200);
  expect(await isVerified()).toBe(false);
  await ada.expect(422, 'PATCH', '/user/emails/primary', { email: 'ada@home.example' });

  // What the button does.
  for (let times = 0; times < 2; times += 1) {
    const pressed = await fetch(link, { method: 'POST', body: new URLSearchParams() });
    expect(pressed.status).toBe(200);
    expect(await isVerified()).toBe(true);
  }

  await ada.expect(200, 'PATCH', '/user/emails/primary', { email: 'ada@home.example' });
  await ada.expect(201, 'POST', '/user/repos', { name: 'demo', private: false });
  await ada.expect(200, 'PUT', '/repos/ada/demo/subscription', { subscribed: true });
  await brian.expect(201, 'POST', '/repos/ada/demo/threads', { title: 'A thread', body: 'Start' });
  await ghost.settled();
  expect(mailsTo(ghost, 'ada@home.example')).toHaveLength(2);
  expect(mailsTo(ghost, 'ada@readers.example')).toEqual([]);
});

test('a verification mail that the relay defers ends with its address', async () => {
  let refused = 0;
  const relay = await startMailCatcher({
    onRcptTo: () => {
      refused += 1;
      return { code: 451, text: '4.2.0 Later' };
    },
  });
  onTestFinished(() => relay.stop());
  const ghost = await startGhost({ GHOST_SMTP_URL: relay.url });
  const ada = await ghost.person('ada');
  await ada.expect(201, 'POST', '/user/emails', ['ada@home.example']);
  await waitUntil(() => refused > 0, { what: 'the first try' });
  await ada.expect(204, 'DELETE', '/user/emails', ['ada@home.example']);
  await ghost.settled();
  const { rows } = await ghost.pool.query('SELECT status, last_error FROM delivery_job');
  expect(rows).toEqual([{ status: 'cancelled', last_error: 'address_removed' }]);
});
