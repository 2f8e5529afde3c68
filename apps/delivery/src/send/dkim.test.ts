import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { promisify } from 'node:util';

import type { EmailMessage } from '@ghost/contract';
import { readSettings } from '@ghost/settings';
import dkim from 'dkim';
import { createTransport } from 'nodemailer';
import { expect, onTestFinished, test } from 'vitest';

import { ID, mail } from '../../../../test/support/email-sender.js';
import { TEST_SECRET_KEYS } from '../../../../test/support/ghost-processes.js';
import { mailCatcher } from '../../../../test/support/servers-of-a-test.js';
import { smtpOptions } from '../start/smtp-options.js';
import { sendOverSmtp, trackProgress } from './smtp-session.js';

/** RFC 8058, 4: a signature must cover both, or mail programs show no one-click button. */
const ONE_CLICK = ['list-unsubscribe', 'list-unsubscribe-post'];
const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PEM = RSA.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** The mail as it came, sent the way that delivery does with these settings. */
async function sent(message: EmailMessage): Promise<Buffer> {
  const relay = await mailCatcher();
  const env = {
    DATABASE_URL: 'postgres://localhost/ghost',
    GHOST_SECRET_KEYS: TEST_SECRET_KEYS,
    GHOST_SMTP_URL: relay.url,
    GHOST_SMTP_TLS: 'off',
    GHOST_DKIM_DOMAIN: 'ghost.example.com',
    GHOST_DKIM_SELECTOR: '2026a',
    GHOST_DKIM_KEY_FILE: '/dkim.pem',
  };
  const settings = readSettings(env, 'delivery', () => PEM);
  if (settings.smtp === null) throw new Error('No relay');
  const transport = createTransport(smtpOptions(settings, settings.smtp, 1));
  onTestFinished(() => transport.close());
  trackProgress(transport);
  const session = { transport, confirm: async () => 'current' as const };
  const result = await sendOverSmtp(message, ID, session, new AbortController().signal);
  expect(result.kind).toBe('accepted');
  return relay.mails()[0]?.raw ?? Buffer.of();
}

/** What a verifier that is not ours makes of it, with the key as it is in DNS. */
async function verified(raw: Buffer) {
  const record = createPublicKey(RSA.privateKey).export({ type: 'spki', format: 'der' });
  const asked: string[] = [];
  const getKey = (domain: string, selector: string, done: (fault: null, key: unknown) => void) => {
    asked.push(`${selector}._domainkey.${domain}`);
    done(null, dkim.Key.parse(`v=DKIM1; k=rsa; p=${record.toString('base64')}`));
  };
  Reflect.set(dkim, 'getKey', getKey);
  const [result] = await promisify(dkim.verify)(raw);
  return { ...result, asked };
}

const MAILS = {
  'of one part': mail({ html: undefined }),
  'with HTML, and every kind of header': mail(),
  'with every kind of line end': mail({
    text: 'a\rb\r\nc\n\rd\r.\re\r',
    html: '<p>a\rb\r\nc</p>\r',
  }),
  'that ends in blank lines, and has dots and long lines': mail({
    text: `.\n..\n${'x '.repeat(3_000)}  \n\n\n`,
    from: { name: `${'Ž"\\,'.repeat(60)} (Ghost)`, address: 'ghost@ghost.example.com' },
  }),
};

test.each(Object.entries(MAILS))('a mail %s is signed with the key', async (_what, message) => {
  const raw = await sent(message);
  const { verified: isVerified, asked, signature } = await verified(raw);
  expect(isVerified).toBe(true);
  expect(asked).toEqual(['2026a._domainkey.ghost.example.com']);
  expect(signature?.headers).toEqual(
    expect.arrayContaining(['from', 'to', 'subject', 'date', 'message-id', ...ONE_CLICK]),
  );
});

test.each(['From', 'Subject', 'List-Unsubscribe', 'List-Unsubscribe-Post', 'References'])(
  'and who changes its %s breaks the signature',
  async (name) => {
    const raw = (await sent(mail())).toString('latin1');
    const changed = raw.replace(new RegExp(`^${name}:\\s+<?`, 'imu'), '$&x');
    expect(changed).not.toBe(raw);
    expect(await verified(Buffer.from(changed, 'latin1'))).toMatchObject({ verified: false });
  },
);

test('the signature, too, is the same on every attempt', async () => {
  expect((await sent(mail())).equals(await sent(mail()))).toBe(true);
});
