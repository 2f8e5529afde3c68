import { createTransport } from 'nodemailer';
import { expect, onTestFinished, test } from 'vitest';
import { type MailCatcherOptions, startMailCatcher } from './mail-catcher.js';

async function start(options?: MailCatcherOptions) {
  const catcher = await startMailCatcher(options);
  const transport = createTransport({ host: '127.0.0.1', port: catcher.port, ignoreTLS: true });
  onTestFinished(async () => {
    transport.close();
    await catcher.stop();
  });
  const send = (to: string, text = 'hello') =>
    transport.sendMail({ from: 'ghost@example.com', to, subject: 'news', text });
  return { catcher, send };
}

test('keeps the envelope and the whole message', async () => {
  const { catcher, send } = await start();
  await send('ada@example.com', 'first\n.dot\nlast');
  const [mail] = await catcher.waitForMails(1);
  expect(mail?.envelope).toEqual({ from: 'ghost@example.com', to: ['ada@example.com'] });
  expect(mail?.raw.toString()).toMatch(/^From: ghost@example\.com\r\n/);
  expect(mail?.raw.toString()).toContain('\r\n\r\nfirst\r\n.dot\r\nlast');
});

test('refuses at each stage with the reply that it is told, and keeps nothing then', async () => {
  const { catcher, send } = await start({
    onRcptTo: (to) =>
      to.startsWith('gone') ? { code: 550, text: '5.1.1 No such user' } : undefined,
    onData: ({ raw }) =>
      raw.includes('later') ? { code: 451, text: '4.3.0 Try again' } : undefined,
  });
  await expect(send('gone@example.com')).rejects.toMatchObject({
    responseCode: 550,
    response: '550 5.1.1 No such user',
    command: 'RCPT TO',
  });
  await expect(send('ada@example.com', 'later')).rejects.toMatchObject({
    responseCode: 451,
    command: 'DATA',
  });
  await send('ada@example.com', 'now');
  expect(catcher.mails()).toHaveLength(1);
});

test('turns clients away at the greeting', async () => {
  const { send } = await start({ onConnect: () => ({ code: 554, text: 'Not today' }) });
  await expect(send('ada@example.com')).rejects.toMatchObject({ responseCode: 554 });
});

test('takes only the log-in that it is told', async () => {
  const catcher = await startMailCatcher({ auth: { user: 'ghost', pass: 'boo' } });
  onTestFinished(() => catcher.stop());
  const as = (pass: string) => {
    const auth = { user: 'ghost', pass };
    return createTransport({ host: '127.0.0.1', port: catcher.port, ignoreTLS: true, auth });
  };
  await expect(as('wrong').verify()).rejects.toMatchObject({ responseCode: 535 });
  expect(await as('boo').verify()).toBe(true);
});
