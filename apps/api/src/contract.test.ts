import { readdirSync, readFileSync } from 'node:fs';
import { deliveryJob, joinMail, type WebhookJob } from '@ghost/contract';
import { describe, expect, test } from 'vitest';

import { commentPayload } from '../../../test/support/fanout-world.js';
import { type MailEvent, threadMail } from './notifier/thread-mail.js';
import { webhookBody } from './webhook-fanout/webhook-body.js';

const FIXTURES = new URL('../../../packages/contract/fixtures/v1/', import.meta.url);
const ID = '019a0000-0000-7000-8000-000000000001';
const SENDER = {
  name: 'Ghost',
  address: 'noreply@ghost.example',
  publicUrl: 'https://ghost.example',
};

function fixtures(kind: 'accepted' | 'rejected'): [string, unknown][] {
  const folder = new URL(`${kind}/`, FIXTURES);
  return readdirSync(folder).map((name) => [
    name,
    JSON.parse(readFileSync(new URL(name, folder), 'utf8')),
  ]);
}

const payload = commentPayload(
  { ownerId: 1, repositoryId: 2, threadId: 3 },
  1,
  '漢字 👋 </script>',
);
const event: MailEvent = { type: 'comment.created', payload, createdAt: new Date(0) };

describe('the jobs that fan-out makes', () => {
  test.each(fixtures('accepted'))('have the contract’s shape, as %s has', (_name, json) => {
    expect(deliveryJob.parse(json)).toEqual(json);
  });

  test.each(fixtures('rejected'))('could never be %s', (_name, json) => {
    expect(deliveryJob.safeParse(json).success).toBe(false);
  });

  test('a mail of a comment, joined with its reader’s parts, is a job of the contract', () => {
    const own = {
      to: { name: 'R', address: 'r@people.example' },
      slots: { r: 'watching', u: 'T' },
    };
    const message = joinMail(threadMail(event, SENDER), own, ID);
    expect(deliveryJob.parse({ version: 1, kind: 'email', message })).toMatchObject({ message });
  });

  test('a webhook of a comment is a job of the contract', () => {
    const body = webhookBody({ ...event, id: ID, version: 1, repositoryId: 2 });
    const job: WebhookJob = { version: 1, kind: 'webhook', hookId: 7, event: event.type, body };
    expect(deliveryJob.parse(job)).toEqual(job);
    expect(JSON.parse(body)).toMatchObject({ id: ID, event: 'comment.created' });
  });
});
