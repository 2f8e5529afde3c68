import { setTimeout as delay } from 'node:timers/promises';

import type { MailContent } from '@ghost/contract';
import type { Pool } from '@ghost/db';

import { apiClient } from '../support/api-client.js';
import { freePort, startDelivery, testEnvironment } from '../support/ghost-processes.js';
import { startMailCatcher } from '../support/mail-catcher.js';
import {
  addPerson,
  type ProofRow,
  startProofApi,
  startProofDatabase,
} from '../support/proof-world.js';
import { withStops } from '../support/stops.js';
import { waitUntil } from '../support/wait-until.js';

export const name =
  'A member is removed while 10,000 of their mails are queued, one in retry, some in hand, and pages of fan-out open';

const MAILS = 10_000;
/** To somebody who stays, in another domain: the relay has something to do before and after. */
const OTHERS = 500;
/** What a relay takes for a reader: some mails are always in hand. */
const RCPT_MS = 20;
const BEFORE = 200;
const BOUND_MS = 1_000;
/** So long nothing more may come: far more than the bound. */
const LISTEN_MS = 5_000;
const PEOPLE = ['gone', 'stays'] as const;
const ADDRESS = { gone: 'gone@people.example', stays: 'stays@other.example' };

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const asked: { to: string; at: number }[] = [];
    const relay = await startMailCatcher({
      onRcptTo: async (to) => {
        asked.push({ to, at: performance.now() });
        await delay(RCPT_MS);
        // One of them is in retry from the start.
        const deferred = asked.filter((one) => one.to === ADDRESS.gone).length === 1;
        return deferred && to === ADDRESS.gone ? { code: 450, text: '4.2.0 Later' } : undefined;
      },
    });
    stops.add(() => relay.stop());
    const { url: databaseUrl, pool } = await startProofDatabase(stops);
    const token = await addPerson(pool, 'ada');
    for (const login of PEOPLE) {
      await addPerson(pool, login);
      await pool.query(
        'UPDATE email_address SET address = $2 WHERE account_id = (SELECT id FROM account WHERE login = $1)',
        [login, ADDRESS[login]],
      );
    }
    const { url } = await startProofApi(stops, databaseUrl);
    const ada = apiClient(url, token);
    await ada.send('POST', '/user/repos', { name: 'secret', private: true });
    for (const login of PEOPLE) await ada.send('PUT', `/repos/ada/secret/collaborators/${login}`);
    await pool.query(
      `INSERT INTO watch (repository_id, account_id) SELECT r.id, a.id FROM repository r, account a WHERE a.login = ANY ($1)`,
      [PEOPLE],
    );
    await addMails(pool, 'gone', MAILS);
    await addMails(pool, 'stays', OTHERS);
    const delivery = await startDelivery(
      await freePort(),
      testEnvironment(databaseUrl, {
        GHOST_SMTP_URL: relay.url,
        GHOST_LANE_CONCURRENCY: '10',
      }),
    );
    stops.add(() => delivery.stop());

    const toGone = () => asked.filter(({ to }) => to === ADDRESS.gone);
    await waitUntil(() => toGone().length >= BEFORE, { what: 'mails to go', timeoutMs: 60_000 });
    // Pages of fan-out that chose the member and commit about when they are removed.
    const posting = Promise.all(
      Array.from({ length: 20 }, (_one, n) =>
        ada.send('POST', '/repos/ada/secret/threads', { title: `Thread ${n}`, body: 'Secret.' }),
      ),
    );
    const removed = await ada.send('DELETE', '/repos/ada/secret/collaborators/gone');
    const answeredAt = performance.now();
    await posting;
    await delay(LISTEN_MS);

    const late = toGone().filter(({ at }) => at > answeredAt);
    const latestMs = Math.max(0, ...late.map(({ at }) => at - answeredAt));
    yield {
      what: `the relay was asked for the member before; after the answer (${removed.status})`,
      figure: `${toGone().length - late.length}; ${late.length}, the last after ${latestMs.toFixed(0)} ms`,
      bound: `≥ ${BEFORE}; none after ${BOUND_MS} ms`,
      ok: toGone().length - late.length >= BEFORE && latestMs <= BOUND_MS && removed.status === 204,
    };
    const { pending, cancelled, delivered } = await countOf(pool, 'gone');
    yield {
      what: 'their mails: pending, cancelled, delivered',
      figure: `${pending}, ${cancelled}, ${delivered}`,
      bound: '0, the rest, those before',
      ok:
        pending === 0 &&
        cancelled > 0 &&
        cancelled + delivered >= MAILS &&
        delivered <= toGone().length,
    };
    await waitUntil(async () => (await countOf(pool, 'stays')).pending === 0, {
      what: 'the mails of who stays',
      timeoutMs: 120_000,
      everyMs: 250,
    });
    const stays = await countOf(pool, 'stays');
    yield {
      what: 'mails of who stays: delivered, cancelled',
      figure: `${stays.delivered}, ${stays.cancelled}`,
      bound: `≥ ${OTHERS + 20}, 0`,
      ok: stays.delivered >= OTHERS + 20 && stays.cancelled === 0,
    };
  });
}

async function addMails(pool: Pool, login: (typeof PEOPLE)[number], count: number): Promise<void> {
  const parts: MailContent = {
    envelopeFrom: 'bounce@ghost.example',
    from: { name: 'Ada (Ghost)', address: 'noreply@ghost.example' },
    subject: ['Re: A thread'],
    text: ['Secret.'],
    date: '2026-11-01T10:00:00.000Z',
    messageIdDomain: 'ghost.example',
    headers: [],
  };
  const address = ADDRESS[login];
  await pool.query(
    `WITH event AS (
       INSERT INTO outbox_event (id, type, version, payload, processed_at) VALUES (gen_random_uuid(), 'comment.created', 1, '{}', now())
       RETURNING id
     ), content AS (
       INSERT INTO delivery_content (id, event_id, kind, parts) SELECT gen_random_uuid(), id, 'email', $4::jsonb FROM event
       RETURNING id, event_id
     ), lane AS (
       INSERT INTO delivery_lane (lane, version, kind, next_at, standing, earned, last_success_at)
       VALUES ('mail:' || split_part($2, '@', 2), 1, 'email', now(), 'proven', 10, now())
     )
     INSERT INTO delivery_job (id, idempotency_key, event_id, content_id, kind, version, lane, repository_id, account_id, own, expires_at)
     SELECT gen_random_uuid(), 'email:' || c.event_id || ':' || n, c.event_id, c.id, 'email', 1, 'mail:' || split_part($2, '@', 2), r.id, a.id,
       jsonb_build_object('to', jsonb_build_object('name', 'Reader', 'address', $2::text), 'slots', '{}'::jsonb), now() + interval '7 days'
     FROM content c, repository r, account a, generate_series(1, $3::int) n WHERE r.name = 'secret' AND a.login = $1`,
    [login, address, count, JSON.stringify(parts)],
  );
}

async function countOf(pool: Pool, login: (typeof PEOPLE)[number]) {
  const { rows } = await pool.query<{ pending: number; cancelled: number; delivered: number }>(
    `SELECT count(*) FILTER (WHERE status = 'pending')::int AS pending, count(*) FILTER (WHERE status = 'cancelled')::int AS cancelled,
       count(*) FILTER (WHERE status = 'delivered')::int AS delivered
     FROM delivery_job j JOIN account a ON a.id = j.account_id WHERE a.login = $1`,
    [login],
  );
  return rows[0] ?? { pending: -1, cancelled: -1, delivered: -1 };
}
