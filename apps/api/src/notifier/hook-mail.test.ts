import {
  type EmailMessage,
  type EventPayload,
  joinMail,
  mailContent,
  mailOwn,
} from '@ghost/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { FanoutWorld, type Place } from '../../../../test/support/fanout-world.js';
import type { FanoutEvent, FanoutPage } from '../outbox/fanout-consumer.js';
import { type HookMailEvent, hookMail } from './hook-mail.js';

const JOB = '019a0000-0000-7000-8000-000000000001';
const SENDER = {
  name: 'Ghost',
  address: 'noreply@ghost.example',
  publicUrl: 'https://ghost.example',
};
const createdAt = new Date('2026-01-03T15:04:05Z');

type Told = Pick<
  EventPayload<'hook.failing'>,
  'repository' | 'hook' | 'reason' | 'message' | 'status' | 'failing_since'
>;

function told(more: Partial<Told> = {}): Told {
  return {
    repository: { id: 2, owner: 'ada', name: 'engine', full_name: 'ada/engine', private: true },
    hook: { id: 7, url: 'https://receiver.example', events: ['*'], active: true },
    reason: 'http_5xx',
    message: 'The endpoint answered 500.',
    status: 500,
    failing_since: '2026-01-02T03:04:05.000Z',
    ...more,
  };
}
const failing = (more: Partial<Told> = {}): HookMailEvent => ({
  type: 'hook.failing',
  payload: { ...told(more), disables_at: '2026-01-05T03:04:05.000Z' },
  createdAt,
});
const disabled = (more: Partial<Told> = {}, held = 'disabled'): HookMailEvent => ({
  type: 'hook.disabled',
  payload: { ...told(more), held, disabled_at: '2026-01-05T03:09:05.000Z' },
  createdAt,
});

function joined(event: HookMailEvent): EmailMessage {
  const own = { to: { name: 'Ada', address: 'ada@people.example' }, slots: {} };
  return joinMail(hookMail(event, SENDER), own, JOB);
}

describe('the mail about a hook', () => {
  test('that fails says since when, why, what comes, and what to do', () => {
    expect(joined(failing())).toEqual({
      envelopeFrom: 'noreply@ghost.example',
      from: { name: 'Ghost', address: 'noreply@ghost.example' },
      to: { name: 'Ada', address: 'ada@people.example' },
      subject: '[ada/engine] The webhook to https://receiver.example is failing',
      date: '2026-01-03T15:04:05.000Z',
      messageId: `<${JOB}@ghost.example>`,
      // No list's mail, and no vacation note answers it.
      headers: {
        'Auto-Submitted': 'auto-generated',
        'X-Auto-Response-Suppress': 'All',
        'X-Ghost-Reason': 'owner',
      },
      text: [
        'Nothing could be delivered to webhook 7 of ada/engine, which leads to https://receiver.example, since 2026-01-02 03:04 UTC.',
        'The newest attempt: The endpoint answered 500. (http_5xx)',
        'If that goes on it is disabled, at 2026-01-05 03:04 UTC at the earliest. What is sent to it is then kept for 7 days, until somebody resumes it.',
        'Mend the endpoint, or give the webhook another URL: the next delivery that arrives ends the matter. If nobody needs it any more, delete it.',
        'The hook, with each attempt and its answer in its deliveries: https://ghost.example/api/repos/ada/engine/hooks/7\n',
      ].join('\n\n'),
      html: expect.stringContaining(
        '<a href="https://ghost.example/api/repos/ada/engine/hooks/7">https://ghost.example/api/repos/ada/engine/hooks/7</a>',
      ),
    });
  });

  test('that was disabled says what is kept, and how to go on', () => {
    const { subject, text } = joined(disabled());
    expect(subject).toBe('[ada/engine] The webhook to https://receiver.example was disabled');
    expect(text).toContain('was disabled at 2026-01-05 03:09 UTC');
    expect(text).toContain('since 2026-01-02 03:04 UTC');
    expect(text).toMatch(/kept, .* 7 days at most/u);
    expect(text).toContain('?held=discard');
  });

  test('that was held by one answer tells of that answer', () => {
    const message =
      'The endpoint answered 410 Gone, so its deliveries are held until it is resumed.';
    const { text } = joined(disabled({ reason: 'gone', message, status: 410 }, 'gone'));
    expect(text).toContain('was disabled at 2026-01-05 03:09 UTC.\n');
    expect(text).toContain(`The newest attempt: ${message} (gone)`);
    expect(text).not.toContain('since 20');
  });

  test('says the same as text and as HTML', () => {
    for (const event of [failing(), disabled()]) {
      const { text, html } = joined(event);
      const plain = html?.replaceAll(/<[^>]+>/gu, '').split('\n');
      expect(plain).toEqual(
        text
          .split('\n')
          .filter((line) => line !== '')
          .concat(''),
      );
    }
  });

  test('is one line of subject and inert HTML, whatever the names hold', () => {
    const nasty = 'a"b\r\nBcc: x@y.example\u202E<script>alert(1)</script>=?utf-8?q?x?=\u2028&amp;';
    for (const made of [failing, disabled]) {
      const event = made({
        repository: {
          id: 2,
          owner: nasty,
          name: nasty,
          full_name: `${nasty}/${nasty}`,
          private: false,
        },
        hook: { id: 7, url: `https://${nasty}`, events: ['*'], active: true },
        message: nasty,
        reason: nasty,
      });
      const { subject, text, html, headers } = joined(event);
      expect(subject).not.toMatch(/[\r\n\u2028\u202E]|=\?/u);
      expect(text).not.toMatch(/[\r\u2028\u202E]|^Bcc/mu);
      expect(html).not.toMatch(/<script|<img|[\r\u2028\u202E]/u);
      expect(html?.match(/<a href="[^"<>]*">/gu)).toHaveLength(1);
      expect(Object.keys(headers)).toEqual([
        'Auto-Submitted',
        'X-Auto-Response-Suppress',
        'X-Ghost-Reason',
      ]);
    }
  });

  test('bounds what is long', () => {
    const { subject } = joined(
      failing({
        hook: { id: 7, url: `https://${'a'.repeat(2_000)}`, events: ['*'], active: true },
      }),
    );
    expect(subject.length).toBeLessThan(250);
  });
});

describe('who gets it', () => {
  let world: FanoutWorld;
  let place: Place;
  let hookId: number;

  beforeAll(async () => {
    world = await FanoutWorld.create();
  });
  afterAll(() => world.stop());
  beforeEach(async () => {
    place = await world.place({ private: true });
    hookId = await world.hook(place);
  });

  async function published(repositoryId = place.repositoryId): Promise<FanoutEvent> {
    const payload = {
      ...told({ hook: { id: hookId, url: 'https://receiver.example', events: [], active: true } }),
      disables_at: '2026-01-05T03:04:05.000Z',
    };
    const event = { type: 'hook.failing', repositoryId, payload } as const;
    return { id: await world.publish(event), version: 1, createdAt, ...event };
  }
  const page = (event: FanoutEvent): Promise<FanoutPage> =>
    world.db.transaction((tx) => world.notifier.page(tx, event, null));
  const skipped = (reason: string) => ({
    jobs: [],
    skips: [{ targetKind: 'account', targetId: place.ownerId, reason }],
    cursor: null,
  });
  const address = (change: string) =>
    world.pool.query(`UPDATE email_address SET ${change} WHERE account_id = $1`, [place.ownerId]);

  test('the owner of the repository alone, by one job whose key a second page repeats', async () => {
    const [member, watcher] = [await world.account(), await world.account()];
    await world.member(place, member);
    await world.watch(place, watcher);
    const event = await published();
    const { jobs, skips, cursor } = await page(event);
    expect({ skips, cursor }).toEqual({ skips: [], cursor: null });
    expect(jobs).toMatchObject([
      {
        idempotencyKey: `email:${event.id}:${place.ownerId}`,
        lane: 'mail:people.example',
        repositoryId: place.repositoryId,
        accountId: place.ownerId,
        own: { to: { address: expect.stringContaining('@people.example') } },
      },
    ]);
    const again = (await page(event)).jobs[0];
    expect(again).toMatchObject({ contentId: jobs[0]?.contentId });
    const { rows } = await world.pool.query<{ parts: unknown }>(
      'SELECT parts FROM delivery_content WHERE id = $1',
      [jobs[0]?.contentId],
    );
    const content = mailContent.parse(rows[0]?.parts);
    expect(joinMail(content, mailOwn.parse(jobs[0]?.own), JOB).text).toContain('is disabled');
  });

  test('nobody while the owner’s primary address is not verified, or is suppressed', async () => {
    await address('verified_at = NULL');
    expect(await page(await published())).toEqual(skipped('unverified'));
    await address('verified_at = now(), is_primary = false');
    expect(await page(await published())).toEqual(skipped('unverified'));
    await address('is_primary = true');
    await world.pool.query(
      `INSERT INTO mail_suppression (address, reason, since)
       SELECT lower(address), 'mailbox_full', now() - interval '1 hour' FROM email_address WHERE account_id = $1`,
      [place.ownerId],
    );
    expect(await page(await published())).toEqual(skipped('suppressed'));
    await world.pool.query(`UPDATE mail_suppression SET until = now() - interval '1 minute'`);
    expect((await page(await published())).jobs).toHaveLength(1);
  });

  test('nobody once the hook or its repository is deleted', async () => {
    await world.pool.query('DELETE FROM hook WHERE id = $1', [hookId]);
    expect(await page(await published())).toEqual(skipped('hook_deleted'));
    expect(await page(await published(999_999))).toEqual({ jobs: [], skips: [], cursor: null });
  });
});
