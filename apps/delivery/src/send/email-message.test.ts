import { simpleParser } from 'mailparser';
import { describe, expect, test } from 'vitest';

import { emailSender, ID, LONG_LINK, mail } from '../../../../test/support/email-sender.js';
import { mailCatcher } from '../../../../test/support/servers-of-a-test.js';

describe('a mail', () => {
  test('reaches one recipient with its parts, and nobody else', async () => {
    const relay = await mailCatcher();
    const { outcome } = await emailSender(relay.port).send();
    expect(outcome).toMatchObject({ verdict: 'delivered', facts: { status: 250 } });
    const [caught] = relay.mails();
    expect(caught?.envelope).toEqual({
      from: 'bounces@ghost.example.com',
      to: ['ada@readers.example'],
    });
    const parsed = await simpleParser(caught?.raw ?? '');
    expect(parsed.from?.value).toEqual([
      { name: 'Doe, Žofie (Ghost)', address: 'ghost@ghost.example.com' },
    ]);
    expect(parsed.to).toMatchObject({
      value: [{ name: 'x <y@z>', address: 'ada@readers.example' }],
    });
    expect(parsed.subject).toBe('Re: [ghost/core] Größe 🎉');
    expect(parsed.messageId).toBe(`<${ID}@ghost.example.com>`);
    expect(parsed.inReplyTo).toBe('<thread-1@ghost.example.com>');
    expect(parsed.references).toEqual([
      '<thread-1@ghost.example.com>',
      '<comment-7@ghost.example.com>',
    ]);
    expect(parsed.date?.toISOString()).toBe('2026-11-29T12:00:00.000Z');
    expect(parsed.text?.trimEnd()).toBe(mail().text.trimEnd());
    expect(parsed.html).toContain('<b>日本語</b>');
    expect(parsed.headers.get('auto-submitted')).toBe('auto-generated');
    const raw = caught?.raw.toString() ?? '';
    expect(raw).not.toMatch(/X-Mailer/iu);
    // RFC 2369: the link must come through in one piece.
    expect(raw.replaceAll(/\r\n[ \t]/gu, '')).toContain(`<${LONG_LINK}>`);
    expect(Math.max(...raw.split('\r\n').map((line) => line.length))).toBeLessThan(999);
  });

  test('is not sent in an encoding that makes it much longer', async () => {
    const relay = await mailCatcher();
    for (const text of ['a=', 'aé字 ']) {
      const long = text.repeat(5_000);
      await emailSender(relay.port).send(mail({ text: long, html: `<p>${long}</p>` }));
      const { raw = Buffer.of() } = relay.mails().at(-1) ?? {};
      // Base64 with its line ends takes 1.37 times of it.
      expect(raw.length).toBeLessThan(1.4 * 2 * Buffer.byteLength(long) + 2_000);
      expect((await simpleParser(raw)).text?.trimEnd()).toBe(long.trimEnd());
    }
  });

  test('has the same bytes on every attempt, whoever sends it', async () => {
    let failures = 1;
    const seen: string[] = [];
    const relay = await mailCatcher({
      onData: ({ raw }) => {
        seen.push(raw.toString('latin1'));
        failures -= 1;
        return failures >= 0 ? { code: 451, text: '4.3.0 Later' } : undefined;
      },
    });
    expect((await emailSender(relay.port).send()).outcome).toMatchObject({ reason: 'deferred' });
    expect((await emailSender(relay.port).send()).outcome.verdict).toBe('delivered');
    expect(seen).toHaveLength(2);
    expect(seen[1]).toBe(seen[0]);
  });

  test.each([
    'u@e, evil@x.example',
    'u@e>\r\nRCPT TO:<evil@x.example',
    'no-at-sign',
    'zoë@x.example',
    'a\u202e@x.example',
  ])('to %j goes to nobody', async (address) => {
    const relay = await mailCatcher();
    const { outcome } = await emailSender(relay.port).send(mail({ to: { name: '', address } }));
    expect(outcome).toMatchObject({ verdict: 'dead', reason: 'address_invalid' });
    expect(relay.mails()).toHaveLength(0);
  });

  test('with a header that names a recipient keeps its envelope', async () => {
    const relay = await mailCatcher();
    await emailSender(relay.port).send(
      mail({ headers: { Bcc: 'evil@x.example', 'X-Odd': 'a, b' } }),
    );
    const [caught] = relay.mails();
    expect(caught?.envelope.to).toEqual(['ada@readers.example']);
    expect(caught?.raw.toString()).not.toContain('evil');
  });

  test('whose job is no longer current is not handed over', async () => {
    const relay = await mailCatcher();
    const { outcome } = await emailSender(relay.port, { confirm: async () => 'lost' }).send();
    expect(outcome).toEqual({ verdict: 'released', reason: 'no_longer_current' });
    expect(relay.mails()).toHaveLength(0);
  });

  test('whose address is no longer its reader’s is cancelled, and not handed over', async () => {
    const relay = await mailCatcher();
    const { outcome } = await emailSender(relay.port, {
      confirm: async () => 'address_removed',
    }).send();
    expect(outcome).toEqual({ verdict: 'cancelled', reason: 'address_removed' });
    expect(relay.mails()).toHaveLength(0);
  });
});
