import { readdirSync, readFileSync } from 'node:fs';

import { deliveryJob } from '@ghost/contract';
import { createTransport } from 'nodemailer';
import { describe, expect, test } from 'vitest';

import { mailOptions } from './send/mail-options.js';
import { storedRequestHead, webhookHeaders } from './send/webhook-request.js';

const ID = '01934f6e-8a1c-7c3a-9b1f-5f3c2d1e0a9b';
const FIXTURES = new URL('../../../packages/contract/fixtures/v1/', import.meta.url);
const SECRETS = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'];

function fixtures(kind: 'accepted' | 'rejected'): [string, unknown][] {
  const folder = new URL(`${kind}/`, FIXTURES);
  return readdirSync(folder).map((name) => [
    name,
    JSON.parse(readFileSync(new URL(name, folder), 'utf8')),
  ]);
}

describe('the jobs of the contract', () => {
  test.each(fixtures('accepted'))(
    '%s is decoded, and becomes what is sent',
    async (_name, json) => {
      const job = deliveryJob.parse(json);
      if (job.kind === 'webhook') {
        const hook = {
          id: job.hookId,
          url: '',
          active: true,
          githubSignature: true,
          insecure: false,
          headers: [],
          secrets: SECRETS,
        };
        const delivery = { id: ID, eventId: null, tries: 0, redelivery: false, job };
        const headers = webhookHeaders(delivery, hook, Buffer.from(job.body), Date.now(), 'test');
        expect(headers).toMatchObject({ 'x-ghost-event': job.event, 'x-ghost-delivery': ID });
        expect(storedRequestHead(headers, hook)['x-hub-signature-256']).toBe('[redacted]');
        return;
      }
      const composed = async () => {
        const transport = createTransport({
          streamTransport: true,
          buffer: true,
          newline: 'windows',
        });
        const { message } = await transport.sendMail(mailOptions(job.message, ID));
        if (!Buffer.isBuffer(message)) throw new Error('No mail was composed.');
        return message.toString();
      };
      const mail = await composed();
      expect(await composed()).toBe(mail);
      expect(mail).toContain(`Message-ID: ${job.message.messageId}\r\n`);
      expect(mail).toContain(job.message.to.address);
    },
  );

  test.each(fixtures('rejected'))('%s is refused', (_name, json) => {
    expect(deliveryJob.safeParse(json).success).toBe(false);
  });
});
